/// Describes the platform: `describe` of the plugin ABI (`include/carillon/describe.schema.json`).
public enum GotifyDescription {
    public static let json: StaticString = #"""
        {
          "version": 1,
          "name": "Gotify",
          "block": "gotify",
          "doc": "What Gotify's message has besides its texts.",
          "target": {"kind": "endpoint", "chosen": true},
          "configuration": {
            "doc": "Gotify: servers are the users' own.",
            "schema": {
              "type": "object",
              "properties": {
                "wake_message": {"description": "What a wake-up shows.", "type": "string"},
                "batch_message": {
                  "description": "What one shows that stands for {n} events.", "type": "string"
                }
              }
            }
          },
          "rules": {
            "type": "object",
            "properties": {
              "priority": {
                "description": "0: unseen, 1 to 3: an icon, 4 to 7: a sound, 8 to 10: a vibration besides.",
                "type": "integer", "minimum": 0, "maximum": 10
              },
              "markdown": {"description": "Whether the text is Markdown.", "type": "boolean"},
              "image": {"description": "A large picture.", "type": "string", "format": "http-uri"},
              "intent": {
                "description": "What the app opens by itself when the message comes.", "type": "string",
                "format": "uri"
              },
              "extras": {
                "description": "Further extras, by their whole names such as client::display.",
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
