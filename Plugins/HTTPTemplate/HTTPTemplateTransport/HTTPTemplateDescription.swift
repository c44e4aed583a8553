/// Describes the platform: `describe` of the plugin ABI (`include/carillon/describe.schema.json`).
public enum HTTPTemplateDescription {
    public static let json: StaticString = #"""
        {
          "version": 1,
          "name": "HTTP",
          "block": "http",
          "doc": "What templates of services know as {{rule.NAME}}.",
          "target": {
            "kind": "token", "chosen": true, "expected": "what the service knows the recipient by"
          },
          "fields": [
            {"name": "service", "secret": false, "doc": "One of the configured services, where there are several."}
          ],
          "configuration": {
            "doc": "Services that are described here: a request, and what its answers mean.",
            "schema": {
              "type": "object",
              "required": ["services"],
              "properties": {
                "wake_message": {"description": "What a wake-up shows.", "type": "string"},
                "batch_message": {
                  "description": "What one shows that stands for {n} events.", "type": "string"
                },
                "secrets_file": {
                  "description": "A file with lines SERVICE.NAME=SECRET, beside what stands under secrets.",
                  "type": "string", "file": true
                },
                "services": {
                  "description": "Services by names of your choice, as contrib/examples/push-services has them.",
                  "type": "object"
                }
              }
            }
          },
          "rules": {"type": "object"},
          "shows_wake_ups": true,
          "cannot": ["actions"],
          "sample": {
            "token": "alice",
            "configuration": {
              "services": {
                "sample": {
                  "url": "https://push.example.com/send/{{token}}",
                  "json": {"id": "{{id}}", "title": "{{title}}", "text": "{{body}}"},
                  "limits": {"title": 100, "body": 500}
                }
              }
            }
          }
        }
        """#
}
