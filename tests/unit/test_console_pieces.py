"""What of a region is sent again, and what is not."""

from bot.standin.console.pieces import Memory, Piece


def piece(key: str, text: str, signature: object = None) -> Piece:
    return Piece(key, signature or text, lambda: text)


def never(key: str, signature: str) -> Piece:
    def fail() -> str:
        raise AssertionError("it was rendered again")

    return Piece(key, signature, fail)


def test_first_look_brings_everything_in_order() -> None:
    news = Memory().news("feed", [piece("b", "two"), piece("a", "one")])

    assert news is not None
    assert [key for key, _ in news["order"]] == ["b", "a"]
    assert "two" in news["html"]["b"]


def test_an_empty_region_is_told_once() -> None:
    memory = Memory()

    assert memory.news("feed", []) == {"order": [], "html": {}}
    assert memory.news("feed", []) is None


def test_what_has_the_same_signature_is_not_even_rendered() -> None:
    memory = Memory()
    memory.news("feed", [piece("a", "one")])

    assert memory.news("feed", [never("a", "one")]) is None


def test_a_change_brings_its_piece_alone() -> None:
    memory = Memory()
    memory.news("feed", [piece("a", "one"), piece("b", "two")])

    news = memory.news("feed", [never("a", "one"), piece("b", "other")])

    assert news is not None
    assert list(news["html"]) == ["b"]


def test_a_new_signature_with_the_same_look_is_not_sent() -> None:
    memory = Memory()
    memory.news("feed", [piece("a", "one", "before")])

    assert memory.news("feed", [piece("a", "one", "after")]) is None


def test_a_piece_that_went_is_told_by_the_order() -> None:
    memory = Memory()
    memory.news("feed", [piece("a", "one"), piece("b", "two")])

    news = memory.news("feed", [never("b", "two")])

    assert news is not None
    assert ([key for key, _ in news["order"]], news["html"]) == (["b"], {})


def test_a_key_is_an_attribute_and_no_more() -> None:
    whole = Memory().whole("feed", [piece('"><script>', "text")])

    assert "<script>" not in whole
