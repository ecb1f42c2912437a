from fstui.report import explanation


def test_plain_page_shows_commands_in_quotes() -> None:
    page = explanation.document("Run `fstui list /srv`, not `fsync` or `su -c 'x y'`.\n\n```sh\nls -l\n```\n", 80)
    assert page.splitlines()[0] == "Run 'fstui list /srv', not fsync or su -c 'x y'."
    assert "'ls -l'" not in page


def test_no_command_of_a_long_table_is_broken() -> None:
    text = explanation.documentation()["platforms"]
    printed = explanation.document(text, 80)
    long = [word.strip("`,") for word in text.replace("|", " ").split() if 16 < len(word) < 78]
    assert len(long) > 10 and [word for word in long if word not in printed] == []
