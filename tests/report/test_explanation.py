from fstui.report import explanation


def test_plain_page_shows_commands_in_quotes() -> None:
    page = explanation.document("Run `fstui list /srv`, not `fsync` or `su -c 'x y'`.\n\n```sh\nls -l\n```\n", 80)
    assert page.splitlines()[0] == "Run 'fstui list /srv', not fsync or su -c 'x y'."
    assert "'ls -l'" not in page
