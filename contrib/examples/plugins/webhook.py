"""A webhook transport for Carillon: POSTs every notification as JSON to the URL that the device's owner registered.

It describes itself, so that Carillon can check rules and registrations for it and editors complete its keys.
"""

from carillon import Invalid, Outcome, Request, gone

PLATFORM = "webhook"
ID = "org.example.webhook"
VERSION = "1.0.0"


def validate(registration):
    if not registration.token.startswith("https://"):
        raise Invalid("the token must be an https:// URL")


def deliver(notification, registration):
    """Returns the request for a notification. The router sends it, and retries it if necessary."""
    payload = {
        "count": notification.count,
        "id": notification.id,
        "signal": notification.signal,
        "title": notification.title,
        "body": notification.body,
        "url": notification.url,
        "native": notification.native,  # the rule's block
    }
    return Request("POST", registration.token, json={key: value for key, value in payload.items() if value})


def outcome(response):
    """Returns the outcome for a response. `Outcome.of` handles the usual ones."""
    if response.status == 400 and response.json() == {"error": "unregistered"}:
        return gone()
    return Outcome.of(response)


def check(block):
    """Checks a rule the schema cannot express: the lamp's times add up to one minute or less."""
    lamp = block.get("lamp")
    if isinstance(lamp, list) and sum(time for time in lamp if isinstance(time, int)) > 60_000:
        raise Invalid("/lamp: expected up to 60000 ms in total")


def describe():
    """Describes the platform: Carillon uses it to check rules, registrations and samples. Its schema is
    include/carillon/describe.schema.json, and `carillon plugin check` reports every error."""
    return {
        "version": 1,
        "name": "Webhook",
        "block": "webhook",
        "doc": "Additional members of the JSON.",
        "target": {"kind": "token", "pattern": "^https://", "expected": "an https:// URL"},
        "rules": {
            "type": "object",
            "additionalProperties": False,
            "properties": {
                "channel": {"description": "The channel in which the receiver shows it.", "type": "string", "minLength": 1},
                "tone": {"description": "The sound that the receiver makes.", "enum": ["none", "chime", "alarm"]},
                "repeat": {"description": "How often the tone plays.", "type": "integer", "minimum": 1, "maximum": 10},
                "lamp": {
                    "description": "The lamp's alternating on and off times, in milliseconds.",
                    "type": "array",
                    "minItems": 1,
                    "maxItems": 16,
                    "items": {"type": "integer", "minimum": 1, "maximum": 60000},
                },
            },
            "checks": [
                {"when": {"has": ["repeat"]}, "require": {"tone": "the sound to repeat"}},
                {"when": {"is": {"tone": ["none"]}}, "refuse": ["repeat"], "message": "there is no tone to repeat"},
            ],
        },
        "presentation": [{"key": "tone", "order": ["none", "chime", "alarm"], "loud": True}],
        "limits": {"payload": [{"bytes": 65536}]},
        "cannot": ["actions", "subtitle", "category", "thread"],
        "sample": {"token": "https://hook.example.com/sample"},
    }
