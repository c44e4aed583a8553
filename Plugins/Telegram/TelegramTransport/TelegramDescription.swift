/// Describes the platform: `describe` of the plugin ABI (`include/carillon/describe.schema.json`).
public enum TelegramDescription {
    public static let json: StaticString = #"""
        {
          "version": 1,
          "name": "Telegram",
          "block": "telegram",
          "doc": "How Telegram shows the message.",
          "target": {
            "kind": "token", "chosen": true,
            "pattern": "^(-?[1-9][0-9]{0,15}|[A-Za-z0-9_-]{16,60})$",
            "expected": "the number of a chat, or a link code of 16 to 60 letters, digits, - and _"
          },
          "configuration": {
            "doc": "Telegram: a bot writes to people and groups.",
            "schema": {
              "type": "object",
              "properties": {
                "token_file": {
                  "description": "A file with the bot's token, as @BotFather gave it.", "type": "string", "file": true
                },
                "token": {
                  "description": "The bot's token itself, as in ${TELEGRAM_BOT_TOKEN}.", "type": "string"
                },
                "bot": {
                  "description": "The bot's name. Apps use it to link users to https://t.me/NAME?start=CODE.",
                  "type": "string"
                },
                "base_url": {
                  "description": "Your own Bot API server. Default: https://api.telegram.org.",
                  "type": "string", "format": "http-uri"
                },
                "wake_message": {"description": "The text in mode wake.", "type": "string"},
                "batch_message": {
                  "description": "The text in mode wake for {n} events.", "type": "string"
                },
                "linked_message": {
                  "description": "The bot's reply to an accepted link code.", "type": "string"
                },
                "stopped_message": {"description": "The bot's reply to /stop.", "type": "string"},
                "taken_message": {
                  "description": "The bot's reply to a link code that another chat has used.", "type": "string"
                },
                "start_message": {
                  "description": "The bot's reply to /start without a code; {chat} is the chat's number.",
                  "type": "string"
                }
              }
            }
          },
          "rules": {
            "type": "object",
            "properties": {
              "silent": {
                "description": "Whether it is silent. Default: depends on the urgency.", "type": "boolean"
              },
              "protect_content": {
                "description": "Whether Telegram prevents forwarding and saving.", "type": "boolean"
              },
              "link_preview": {
                "description": "Whether Telegram shows a preview of links in the text.", "type": "boolean"
              }
            }
          },
          "presentation": [{"key": "silent", "loud": true, "order": [true, false]}],
          "shows_wake_ups": true,
          "limits": {"payload": [{"bytes": 12288, "counts": ["/text"]}]},
          "cannot": ["category", "thread", "collapse", "data"],
          "sample": {
            "token": "123456789",
            "configuration": {"token": "1234567890:SAMPLE-SAMPLE-SAMPLE-SAMPLE-SAMPLE-"}
          }
        }
        """#
}
