"""``python -m fstui``"""

from fstui.cli import main

main()
