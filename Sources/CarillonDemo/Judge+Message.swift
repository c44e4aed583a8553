import CarillonLab
import Nostr

extension Judge {
    /// What phones must get of one scene, each in its form.
    struct Message {
        /// The router's word where nothing of the event may be said.
        static let neutralTitle = "New notification"

        let scene: Scene
        let signal: String
        let texts: Scene.Texts

        /// What the app of `phone` must read; `id` is what the router calls the notification.
        func expected(by phone: Phone, id: JSON) -> JSON {
            let shown: [String: JSON] = ["title": .string(texts.title), "body": .string(texts.body)]
            let named: [String: JSON] = ["t": .string(signal), "id": id]
            switch (phone.mode, phone.service) {
            case (.wake, _): return .object(["t": .string(signal)])
            case (.nudge, _):
                let alert: JSON = .object(["title": .string(Self.neutralTitle)])
                let nudge: [String: JSON] = ["aps": aps(alert), "t": .string(signal)]
                return .object(isCategoryFixed ? nudge.adding(["category": category]) : nudge)
            case (.sealed, _): return .object(keys.adding(named).adding(shown))
            case (.alert, .webPush):
                let notification = shown.adding(["data": .object(keys.adding(named))])
                return .object(["t": .string(signal), "notification": .object(notification)])
            case (.alert, _):
                return .object(keys.adding(["aps": aps(.object(shown))]))
            }
        }

        /// As loud as the built-in rules are, in every mode that shows something.
        private func aps(_ alert: JSON) -> JSON {
            .object([
                "alert": alert, "badge": .integer(1), "sound": .string("default"), "mutable-content": .integer(1),
            ])
        }

        private var category: JSON { .string("kind_\(scene.event.kind.rawValue)") }

        /// The rules for reposts and direct messages take several kinds, so their category tells which one came.
        private var isCategoryFixed: Bool { !["repost", "dm"].contains(signal) }

        /// What the router called the notification, which nobody can know before.
        func id(in content: JSON) -> JSON {
            guard let id = (content["notification"]?["data"] ?? content)["id"]?.string, !id.isEmpty else {
                return .string("any id")
            }
            return .string(id)
        }

        /// Seed 000, field by field.
        private var keys: [String: JSON] {
            let event = scene.event
            var keys: [String: JSON] = [
                "category": category, "event_id": .string(event.id.hex),
                "author_pubkey": .string(event.pubkey.hex), "kind": .integer(Int64(event.kind.rawValue)),
                "created_at": .integer(event.createdAt),
            ]
            if let reference = scene.reference {
                keys["referenced_event_id"] = .string(reference.id.hex)
                keys["referenced_event_kind"] = .integer(Int64(reference.kind.rawValue))
                keys["referenced_event_content"] = .string(reference.content)
            }
            return keys
        }
    }
}

extension [String: JSON] {
    fileprivate func adding(_ others: [String: JSON]) -> [String: JSON] {
        merging(others) { $1 }
    }
}
