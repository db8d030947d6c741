"""What the message box makes of typed words."""

import pytest

from bot.standin.slack.cast import Cast
from bot.standin.slack.composer import typed


@pytest.mark.parametrize(
    ("text", "sent"),
    [
        ("status @U_OPERATOR", "status <@U_OPERATOR|ola-operator>"),
        ("owner=@ola-operator", "owner=<@U_OPERATOR|ola-operator>"),
        ("status <@U_OPERATOR>", "status <@U_OPERATOR|ola-operator>"),
        ("ask @S_APPROVERS", "ask <!subteam^S_APPROVERS|@approvers>"),
        ("post #C_OPS", "post <#C_OPS|ops>"),
        ("post #G_PRIVATE", "post <#G_PRIVATE|>"),
        ("@nobody #nowhere", "@nobody #nowhere"),
        ("env=URL=http://10.10.0.5:8000/v1?a=1&b=2", "env=URL=<http://10.10.0.5:8000/v1?a=1&amp;b=2>"),
        ("node=node-3.internal", "node=<http://node-3.internal|node-3.internal>"),
        ("mail me@demo.example", "mail <mailto:me@demo.example|me@demo.example>"),
        ("env=FILTER=a<b&c>d", "env=FILTER=a&lt;b&amp;c&gt;d"),
        ("env=LANG=C.UTF-8 home=alpha", "env=LANG=C.UTF-8 home=alpha"),
    ],
)
def test_typed_words_are_escaped_and_linked(text: str, sent: str) -> None:
    assert typed(text, Cast()) == sent


def test_a_telephone_makes_quotes_and_dashes_clever() -> None:
    text = typed("""create --home=a env=G="hello there" env=H='x' it's""", Cast(), phone=True)

    assert text == "create —home=a env=G=“hello there” env=H=‘x’ it’s "  # noqa: RUF001  # curly quotes are the point
