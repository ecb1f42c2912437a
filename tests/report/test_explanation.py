from fstui.report import explanation


def test_plain_page_shows_commands_in_quotes() -> None:
    page = explanation.plain_text("Run `fstui list /srv`, not `fsync` or `su -c 'x y'`.\n\n```sh\nls -l\n```\n", 80)
    assert page.splitlines()[0] == "Run 'fstui list /srv', not fsync or su -c 'x y'."
    assert "'ls -l'" not in page


def test_code_and_addresses_are_not_wrapped() -> None:
    command, address = "fstui powercut witness " + "x" * 70, "https://" + "host/" * 20
    page = explanation.plain_text(f"1. Run:\n   ```sh\n   {command}\n   ```\n\n- {address}\n", 80)
    assert command in page and address in page


def test_links_name_the_command_that_shows_them() -> None:
    assert "Cuts ('fstui explain power-cuts')" in explanation.plain_text("[Cuts](power-cuts.md#procedure)", 80)
    assert explanation.plain_text("See [`fstui explain fit`](fit.md).", 80).strip() == "See 'fstui explain fit'."


def test_list_of_rules_does_not_break_numbers() -> None:
    assert "10\xa0000" in explanation.overview(80)


def test_no_command_of_a_long_table_is_broken() -> None:
    text = explanation.documentation()["platforms"]
    printed = explanation.plain_text(text, 80)
    long = [word.strip("`,") for word in text.replace("|", " ").split() if 16 < len(word) < 78]
    assert len(long) > 10 and [word for word in long if word not in printed] == []
    assert "…" not in printed.replace("path=…", "")
