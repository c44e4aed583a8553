/// Describes the platform: `describe` of the plugin ABI (`include/carillon/describe.schema.json`).
public enum HTTPTemplateDescription {
    public static let json: StaticString = #"""
        {
          "version": 1,
          "name": "HTTP",
          "block": "http",
          "doc": "Values that templates of services use as {{rule.NAME}}.",
          "target": {
            "kind": "token", "chosen": true, "expected": "the recipient's id at the service"
          },
          "fields": [
            {"name": "service", "secret": false, "doc": "A configured service; required if there are several."}
          ],
          "configuration": {
            "doc": "Services that you describe: a request and the meaning of its responses.",
            "schema": {
              "type": "object",
              "required": ["services"],
              "properties": {
                "wake_message": {"description": "The text in mode wake.", "type": "string"},
                "batch_message": {
                  "description": "The text in mode wake for {n} events.", "type": "string"
                },
                "secrets_file": {
                  "description": "A file with lines SERVICE.NAME=SECRET, in addition to secrets.",
                  "type": "string", "file": true
                },
                "services": {
                  "description": "Services, by names that you choose. Examples: contrib/examples/push-services.",
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
