/// Describes the platform: `describe` of the plugin ABI (`include/carillon/describe.schema.json`).
public enum GotifyDescription {
    public static let json: StaticString = #"""
        {
          "version": 1,
          "name": "Gotify",
          "block": "gotify",
          "doc": "Members of Gotify's message other than its texts.",
          "target": {"kind": "endpoint", "chosen": true},
          "configuration": {
            "doc": "Gotify: users choose their own servers.",
            "schema": {
              "type": "object",
              "properties": {
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
              "priority": {
                "description": "0: hidden, 1 to 3: an icon, 4 to 7: also a sound, 8 to 10: also a vibration.",
                "type": "integer", "minimum": 0, "maximum": 10
              },
              "markdown": {"description": "Whether the text is Markdown.", "type": "boolean"},
              "image": {"description": "A large picture.", "type": "string", "format": "http-uri"},
              "intent": {
                "description": "A URL that the app opens when the message arrives.", "type": "string",
                "format": "uri"
              },
              "extras": {
                "description": "More extras, by their full names such as client::display.",
                "type": "object"
              }
            }
          },
          "presentation": [{"key": "priority", "loud": true, "order": [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10]}],
          "shows_wake_ups": true,
          "limits": {"payload": [{"bytes": 4096}]},
          "cannot": ["actions", "category", "thread"],
          "sample": {"token": "https://gotify.example.com/message?token=Asample"}
        }
        """#
}
