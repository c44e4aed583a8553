/// Describes the platform: `describe` of the plugin ABI (`include/carillon/describe.schema.json`).
public enum EmailDescription {
    public static let json: StaticString = #"""
        {
          "version": 1,
          "name": "E-mail",
          "block": "email",
          "doc": "The appearance of the e-mail.",
          "target": {"kind": "token", "chosen": true, "expected": "an e-mail address"},
          "configuration": {
            "doc": "E-mail, through the operator's mail server.",
            "schema": {
              "type": "object",
              "properties": {
                "server": {"description": "The mail server's name.", "type": "string"},
                "port": {
                  "description": "Default: 587 (starttls), 465 (tls) or 25 (none).", "type": "integer",
                  "minimum": 1, "maximum": 65535
                },
                "security": {
                  "description": "How the connection is encrypted.", "enum": ["starttls", "tls", "none"],
                  "default": "starttls"
                },
                "username": {"description": "The account at the mail server.", "type": "string"},
                "password": {"description": "Its password, as in ${SMTP_PASSWORD}.", "type": "string"},
                "password_file": {
                  "description": "A file that contains only the password, instead of it.", "type": "string",
                  "file": true
                },
                "authority_file": {
                  "description": "A PEM file of CAs to trust instead of the system's.", "type": "string", "file": true
                },
                "hello": {
                  "description": "The host name for EHLO. Default: the domain of from.",
                  "type": "string"
                },
                "connections": {
                  "description": "The maximum number of connections.", "type": "integer", "minimum": 1,
                  "maximum": 16, "default": 2
                },
                "idle_seconds": {
                  "description": "The idle time after which a connection is closed.", "type": "integer",
                  "minimum": 10, "maximum": 300, "default": 60
                },
                "from": {"description": "The sender's address.", "type": "string"},
                "from_name": {"description": "The sender's name.", "type": "string"},
                "return_path": {"description": "The address for bounces. Default: from.", "type": "string"},
                "reply_to": {"description": "The address for replies.", "type": "string"},
                "list_id": {
                  "description": "The List-Id, such as notifications.example.com.", "type": "string"
                },
                "unsubscribe_mailto": {"description": "The address for unsubscribe messages.", "type": "string"},
                "unsubscribe_url": {
                  "description": "An https URL that unsubscribes on POST; {address} is the recipient's address.",
                  "type": "string"
                },
                "footer": {"description": "The last lines of every message.", "type": "string"},
                "domains": {
                  "description": "Domains or addresses that may be registered. Default: all.",
                  "type": "array", "minItems": 0, "maxItems": 1000, "items": {"type": "string", "minLength": 1}
                },
                "wake_message": {"description": "The text in mode wake.", "type": "string"},
                "batch_message": {
                  "description": "The text in mode wake for {n} events.", "type": "string"
                }
              }
            }
          },
          "rules": {
            "type": "object",
            "properties": {
              "subject": {"description": "Replaces the rule's title.", "type": "string", "minLength": 1}
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
