"""A service without a provider does not import the packages of the protocol: they make its start slower."""

import subprocess
import sys

CODE = """
import sys
import api.app.composition
from api.auth.logins.lean_jwt import jwt
print([name for name in ("authlib", "joserfc", "cryptography") if name in sys.modules])
from cryptography.hazmat.primitives.asymmetric import rsa
print(jwt.decode(jwt.encode({"a": 1}, "x" * 32, "HS256"), "x" * 32, ["HS256"]))
"""


def test_without_a_provider_nothing_of_the_protocol_is_imported() -> None:
    done = subprocess.run([sys.executable, "-c", CODE], capture_output=True, text=True, check=True)
    assert done.stdout.split("\n")[:2] == ["[]", "{'a': 1}"]
