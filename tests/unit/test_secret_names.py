import pytest

from bot.domain.secret_names import is_secret_name, is_secret_parameter, words

SECRET = """
OPENAI_API_KEY DB_PASSWORD accessToken x-cube-admin-token CUBE_API_KEY_OLD_2025 gItHuB_ToKeN OPENAIApiKey
auth.token Slack_Bot_Token HERMES_STUDIO_JWT_SECRET_V2 ADMIN_PASSPHRASE REGISTRY_CREDENTIALS MYSQL_PWD passwd
apikey secrets passwords credential s3SecretKey q-key-time --api-key e2b-traffic-access-token
secret_public_key_x PRIVATE_KEY public_secret token_path_old
"""
PLAIN = """
tokenizer max_tokens total_tokens KEYBOARD MONKEY TURKEY KEYRING_BACKEND passwordless secretary keyspace keys
PUBLIC_KEY_PATH PASSWORD_FILE SECRET_NAME TOKEN_TTL TOKEN_URL KeyError tokenCount secretId api_key_fingerprint
PUBLIC_KEY publicKey pub-key ssh.pub.key OPENAI_BASE_URL token_algorithm TokenType password_version
TOKENIZERS_PARALLELISM keystone pubkey home _ - . 口令
"""


@pytest.mark.parametrize("name", SECRET.split())
def test_a_whole_word_makes_a_name_secret(name: str) -> None:
    assert is_secret_name(name)


@pytest.mark.parametrize("name", ["", *PLAIN.split()])
def test_part_of_a_word_or_a_description_does_not(name: str) -> None:
    assert not is_secret_name(name)


@pytest.mark.parametrize(
    "name", ["q-signature", "sig", "X-Amz-Signature", "ticket", "downloadTicket", "token"]
)
def test_signatures_and_tickets_are_secret_in_urls(name: str) -> None:
    assert is_secret_parameter(name)


@pytest.mark.parametrize("name", ["q-sign-algorithm", "signature_version", "ticket-id", "sign", "design", ""])
def test_what_tells_about_a_signature_is_not(name: str) -> None:
    assert not is_secret_parameter(name)


def test_signatures_are_not_secret_elsewhere() -> None:
    assert not is_secret_name("signature")


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("OPENAIApiKey", ["openai", "api", "key"]),
        ("x-cube.admin_token", ["x", "cube", "admin", "token"]),
        ("oauth2Token", ["oauth2", "token"]),
        ("__a--b..", ["a", "b"]),
        ("", []),
    ],
)
def test_words(name: str, expected: list[str]) -> None:
    assert words(name) == expected


def test_words_without_camel_case() -> None:
    assert words("gItHuB_ToKeN", camel_case=False) == ["github", "token"]


def test_a_long_name_is_judged_too() -> None:
    assert is_secret_name("x" * 100_000 + "_token")
