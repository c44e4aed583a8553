import CarillonLab
import Cipher
import Nostr

/// Compares the pushes that arrived with the expected ones.
struct PushChecker {
    /// All phones that must get a push.
    let phones: [Phone]
    /// Texts that reveal the identity of a person in the story.
    let identities: [String]

    /// Returns a sentence for every error in the pushes of a scene; empty if there is none.
    func complaints(about scene: Scene, _ pushes: [Push]) -> [String] {
        guard case .pushes(let title, let body, let signal) = scene.consequence else {
            return pushes.map { "an unexpected push arrived: \($0.line)" }
        }
        let english = Scene.Texts(title: title, body: body)
        let others = pushes.filter { push in !phones.contains { $0.target == push.target } }
        return phones.flatMap { phone in
            check(phone, pushes) { push in
                let texts = phone.language == nil ? english : scene.german ?? english
                let message = Message(scene: scene, signal: signal, texts: texts)
                return complaints(about: push, phone, message)
                    + (phone.isSecret ? leaks(in: push, of: scene) : [])
            }
        } + others.map { "a push went to an unrelated phone: \($0.line)" }
    }

    private func check(_ phone: Phone, _ pushes: [Push], _ content: (Push) -> [String]) -> [String] {
        let own = pushes.filter { $0.target == phone.target }
        guard let push = own.first else { return ["no push reached the \(phone.name)"] }
        guard own.count == 1 else { return ["\(own.count) pushes reached the \(phone.name) instead of one"] }
        guard push.isAccepted else {
            return ["the push service of the \(phone.name) refused: \(push.status) \(push.complaint ?? "")"]
        }
        return ([push.complaint].compactMap { $0 } + content(push)).map { "\(phone.name): \($0)" }
    }

    private func complaints(about push: Push, _ phone: Phone, _ message: Message) -> [String] {
        var complaints: [String] = []
        let isEncrypted = phone.service == .unifiedPush || phone.service == .webPush
        if isEncrypted, !push.wasDecrypted { complaints.append("the message was not encrypted") }
        if phone.service == .apns, push.headers["apns-push-type"] != "alert" {
            complaints.append("the push type is not alert")
        }
        if phone.mode == .sealed { complaints += complaintsAboutEnvelope(push, phone) }
        let content = phone.reads(push) ?? .null
        let expected = message.expected(by: phone, id: message.id(in: content))
        if content != expected {
            complaints.append("expected\n\(expected.prettyPrinted)\nfound\n\(content.prettyPrinted)")
        }
        return complaints
    }

    /// The payload must contain only the envelope, whose length must not depend on its content.
    private func complaintsAboutEnvelope(_ push: Push, _ phone: Phone) -> [String] {
        guard let text = phone.opened(push) else { return ["there is no envelope that the phone's key opens"] }
        var complaints: [String] = []
        let message = push.payload["message"]?.object ?? [:]
        if Set(message.keys) != ["token", "android", "data"] || message["data"]?.object?.count != 1 {
            complaints.append("the push has more than the envelope: \(push.line)")
        }
        if text.utf8.count != Phone.sealedByteCount {
            complaints.append("the envelope has \(text.utf8.count) bytes instead of \(Phone.sealedByteCount)")
        }
        return complaints
    }

    /// Returns everything that the push service could read of the event, its author or its reference. Texts of fewer
    /// than six bytes may occur in ciphertext by chance.
    private func leaks(in push: Push, of scene: Scene) -> [String] {
        let events = [scene.event] + [scene.reference].compactMap { $0 }
        let words = events.flatMap { event in
            [event.content]
                + [event.id.hex, event.pubkey.hex].flatMap { [$0, Base64URL.encode(Hex.decode($0) ?? [])] }
        }
        return (identities + words).filter { $0.utf8.count >= 6 && push.wire.contains(Array($0.utf8)) }
            .map { "the push service can read '\($0)'" }
    }

    /// The message of one scene, in the form of each phone.
    struct Message {
        /// The router's text for nudges.
        static let neutralTitle = "New notification"

        let scene: Scene
        let signal: String
        let texts: Scene.Texts

        /// The content that the app of `phone` must read. `id` is the router's ID of the notification.
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

        /// The `aps` of an alert or nudge: badge and sound as in the built-in rules.
        private func aps(_ alert: JSON) -> JSON {
            .object(["alert": alert, "badge": .integer(1), "sound": .string("default"), "mutable-content": .integer(1)])
        }

        private var category: JSON { .string("kind_\(scene.event.kind.rawValue)") }

        /// The rules for reposts and direct messages match several kinds, so their category reveals the kind.
        private var isCategoryFixed: Bool { !["repost", "dm"].contains(signal) }

        /// The router's ID of the notification, which is not predictable.
        func id(in content: JSON) -> JSON {
            guard let id = (content["notification"]?["data"] ?? content)["id"]?.string, !id.isEmpty else {
                return .string("any id")
            }
            return .string(id)
        }

        /// The app's keys about the event.
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
