/// Describes the platform: `describe` of the plugin ABI (`include/carillon/describe.schema.json`).
public enum WebhookDescription {
    public static let json: StaticString = #"""
        {
          "version": 1,
          "name": "Webhook",
          "block": "webhook",
          "doc": "Further members of the JSON that is posted.",
          "target": {
            "kind": "token", "chosen": true,
            "expected": "the URL of an endpoint, or what the app's server knows the device by"
          },
          "fields": [
            {"name": "secret", "doc": "Signs what goes to an endpoint: whsec_…, several with blanks between."}
          ],
          "configuration": {
            "doc": "Webhooks: JSON to endpoints of users, or to the app's server.",
            "schema": {
              "type": "object",
              "properties": {
                "url": {"description": "The app's server.", "type": "string", "format": "http-uri"},
                "secrets": {
                  "description": "Sign what goes to the app's server, each for itself: whsec_… of Standard Webhooks.",
                  "type": "array", "minItems": 0, "maxItems": 8, "items": {"type": "string", "minLength": 1}
                },
                "secrets_file": {
                  "description": "A file with a secret a line, in place of secrets.", "type": "string", "file": true
                },
                "endpoints": {
                  "description": "Endpoints of users: signed with the registration's secret, or else the app's; or refused.",
                  "enum": ["own-secret", "app-secret", "refused"], "default": "own-secret"
                },
                "batch": {
                  "description": "The most messages in one request: bodies are then arrays. Each by itself when left out.",
                  "type": "integer", "minimum": 2, "maximum": 50
                }
              }
            }
          },
          "rules": {"type": "object"},
          "limits": {"payload": [{"bytes": 20000}]},
          "sample": {
            "token": "https://example.com/hook",
            "fields": {"secret": "whsec_YSBzYW1wbGUgb2YgYSBzZWNyZXQga2V5"}
          }
        }
        """#
}
