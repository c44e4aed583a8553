/// Describes the platform: `describe` of the plugin ABI (`include/carillon/describe.schema.json`).
public enum UnifiedPushDescription {
    public static let json: StaticString = #"""
        {
          "version": 1,
          "name": "UnifiedPush",
          "block": "unifiedpush",
          "doc": "Additional members of the message that an app gets through UnifiedPush.",
          "target": {"kind": "endpoint"},
          "configuration": {
            "doc": "UnifiedPush: users choose their endpoints. Keys are for apps that give one to their distributor.",
            "schema": {
              "type": "object",
              "properties": {
                "vapid_key_file": {
                  "description": "A P-256 private key in PEM that signs messages.",
                  "type": "string", "file": true
                },
                "vapid_key": {
                  "description": "The content of that file instead, such as ${VAPID_KEY}.", "type": "string"
                },
                "subject": {
                  "description": "Your contact for push services, such as mailto:ops@example.com.",
                  "type": "string"
                },
                "old_vapid_key_files": {
                  "description": "Previous keys, for subscriptions that were made with them.",
                  "type": "array", "items": {"type": "string"}, "file": true
                }
              }
            }
          },
          "rules": {"type": "object"},
          "limits": {"payload": [{"bytes": 4096}]},
          "sample": {
            "token": "https://push.example.com/sample",
            "fields": {"p256dh": {"generate": "p256dh"}, "auth": {"generate": "auth"}}
          }
        }
        """#
}
