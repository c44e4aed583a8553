import APNsTransport
import EmailTransport
import FCMTransport
import GotifyTransport
import HTTPTemplateTransport
import MQTTTransport
import NtfyTransport
import Push
import TelegramTransport
import UnifiedPushTransport
import WebPushTransport
import WebhookTransport

extension PlatformCatalog {
    /// The documents of Carillon's own transports, by platform.
    package static let builtInDocuments: [String: String] = [
        "android": FCMDescription.json, "email": EmailDescription.json, "gotify": GotifyDescription.json,
        "http": HTTPTemplateDescription.json, "ios": APNsDescription.json,
        "mqtt": MQTTDescription.json, "ntfy": NtfyDescription.json, "telegram": TelegramDescription.json,
        "unifiedpush": UnifiedPushDescription.json,
        "web": WebPushDescription.json, "webhook": WebhookDescription.json,
    ].mapValues { "\($0)" }

    /// The platform descriptions of Carillon's own transports.
    package static let builtIn = PlatformCatalog(
        builtInDocuments.mapValues { document in
            do {
                return try PlatformDescription(parsing: document)
            } catch {
                fatalError("a built-in description is wrong: \(error)")
            }
        }
    )
}
