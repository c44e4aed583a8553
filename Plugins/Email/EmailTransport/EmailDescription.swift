/// Describes the platform: `describe` of the plugin ABI (`include/carillon/describe.schema.json`).
public enum EmailDescription {
    public static let json: StaticString = #"""
        {
          "version": 1,
          "name": "E-mail",
          "block": "email",
          "doc": "How the message looks in a mail program.",
          "target": {"kind": "token", "chosen": true, "expected": "an e-mail address"},
          "configuration": {
            "doc": "E-mail, through a mail server of the operator's.",
            "schema": {
              "type": "object",
              "properties": {
                "server": {"description": "The mail server's name.", "type": "string"},
                "port": {
                  "description": "587 (starttls), 465 (tls) or 25 (none) when left out.", "type": "integer",
                  "minimum": 1, "maximum": 65535
                },
                "security": {
                  "description": "How the connection is encrypted.", "enum": ["starttls", "tls", "none"],
                  "default": "starttls"
                },
                "username": {"description": "The account at the mail server.", "type": "string"},
                "password": {"description": "Its password, as in ${SMTP_PASSWORD}.", "type": "string"},
                "password_file": {
                  "description": "A file with the password and nothing else, in place of it.", "type": "string",
                  "file": true
                },
                "authority_file": {
                  "description": "PEM: whom to trust instead of the system's authorities.", "type": "string", "file": true
                },
                "hello": {
                  "description": "This machine's name to the mail server; the domain of from when left out.",
                  "type": "string"
                },
                "connections": {
                  "description": "How many connections there are at most.", "type": "integer", "minimum": 1,
                  "maximum": 16, "default": 2
                },
                "idle_seconds": {
                  "description": "After so long without a byte a connection is closed.", "type": "integer",
                  "minimum": 10, "maximum": 300, "default": 60
                },
                "from": {"description": "The sender's address.", "type": "string"},
                "from_name": {"description": "The name beside it.", "type": "string"},
                "return_path": {"description": "Where bounces go; from when left out.", "type": "string"},
                "reply_to": {"description": "Where answers go.", "type": "string"},
                "list_id": {
                  "description": "List-Id, by which people sort: notifications.example.com.", "type": "string"
                },
                "unsubscribe_mailto": {"description": "An address to unsubscribe at.", "type": "string"},
                "unsubscribe_url": {
                  "description": "An https URL that a POST unsubscribes at; {address} stands for the recipient's.",
                  "type": "string"
                },
                "footer": {"description": "The last lines of every message.", "type": "string"},
                "domains": {
                  "description": "Whose addresses may be registered; all when left out.",
                  "type": "array", "minItems": 0, "maxItems": 1000, "items": {"type": "string", "minLength": 1}
                },
                "wake_message": {"description": "What a wake-up says.", "type": "string"},
                "batch_message": {
                  "description": "What one says that stands for {n} events.", "type": "string"
                }
              }
            }
          },
          "rules": {
            "type": "object",
            "properties": {
              "subject": {"description": "In place of the rule's title.", "type": "string", "minLength": 1}
            }
          },
          "shows_wake_ups": true,
          "cannot": ["category", "collapse", "data"],
          "sample": {
            "token": "alice@example.com",
            "configuration": {"server": "smtp.example.com", "from": "push@example.com"}
          }
        }
        """#
}
