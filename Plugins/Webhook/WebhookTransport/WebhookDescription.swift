/// Describes the platform: `describe` of the plugin ABI (`include/carillon/describe.schema.json`).
public enum WebhookDescription {
    public static let json: StaticString = #"""
        {
          "version": 1,
          "name": "Webhook",
          "block": "webhook",
          "doc": "Additional members of the posted JSON.",
          "target": {
            "kind": "token", "chosen": true,
            "expected": "the URL of an endpoint, or the device's id at the app's server"
          },
          "fields": [
            {"name": "secret", "doc": "Signs requests to an endpoint: whsec_…, several separated by spaces."}
          ],
          "configuration": {
            "doc": "Webhooks: JSON to endpoints of users, or to the app's server.",
            "schema": {
              "type": "object",
              "properties": {
                "url": {"description": "The app's server.", "type": "string", "format": "http-uri"},
                "secrets": {
                  "description": "Each signs requests to the app's server: whsec_… of Standard Webhooks.",
                  "type": "array", "minItems": 0, "maxItems": 8, "items": {"type": "string", "minLength": 1}
                },
                "secrets_file": {
                  "description": "A file with one secret per line, instead of secrets.", "type": "string", "file": true
                },
                "endpoints": {
                  "description": "Users' endpoints: signed with the registration's secret or the app's; or refused.",
                  "enum": ["own-secret", "app-secret", "refused"], "default": "own-secret"
                },
                "batch": {
                  "description": "The maximum number of messages in one request, as an array. Default: no batches.",
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
