import CarillonLab
import Nostr

/// Compares what arrived with what had to.
struct Judge {
    /// All that are to be woken.
    let phones: [Phone]

    /// What is wrong with the pushes that came of one scene, a sentence each; empty when all is well.
    func complaints(about scene: Scene, _ pushes: [Push]) -> [String] {
        guard case .pushes(let title, let body, let signal) = scene.consequence else {
            return pushes.map { "a push arrived that nobody should get: \($0.line)" }
        }
        let others = pushes.filter { push in !phones.contains { $0.target == push.target } }
        return phones.flatMap { phone in
            check(phone, pushes) {
                switch phone.mode {
                case .alert: complaintsAboutAlert($0, scene, title: title, body: body)
                case .wake: complaintsAboutWake($0, signal: signal)
                }
            }
        } + others.map { "a push went to a phone that has nothing to do with it: \($0.line)" }
    }

    private func check(_ phone: Phone, _ pushes: [Push], _ content: (Push) -> [String]) -> [String] {
        let own = pushes.filter { $0.target == phone.target }
        guard let push = own.first else { return ["nothing reached the \(phone.name)"] }
        guard own.count == 1 else { return ["\(own.count) pushes reached the \(phone.name) instead of one"] }
        guard push.status == 200 else {
            return ["the push service of the \(phone.name) refused: \(push.status) \(push.complaint ?? "")"]
        }
        return ([push.complaint].compactMap { $0 } + content(push)).map { "\(phone.name): \($0)" }
    }

    /// Seed 000, field by field.
    private func complaintsAboutAlert(_ push: Push, _ scene: Scene, title: String, body: String) -> [String] {
        let event = scene.event
        let aps: [String: JSON] = [
            "alert": .object(["title": .string(title), "body": .string(body)]),
            "badge": .integer(1), "sound": .string("default"), "mutable-content": .integer(1),
        ]
        var expected: [String: JSON] = [
            "aps": .object(aps), "category": .string("kind_\(event.kind.rawValue)"),
            "event_id": .string(event.id.hex), "author_pubkey": .string(event.pubkey.hex),
            "kind": .integer(Int64(event.kind.rawValue)), "created_at": .integer(event.createdAt),
        ]
        if let reference = scene.reference {
            expected["referenced_event_id"] = .string(reference.id.hex)
            expected["referenced_event_kind"] = .integer(Int64(reference.kind.rawValue))
            expected["referenced_event_content"] = .string(reference.content)
        }
        var complaints: [String] = []
        if push.headers["apns-push-type"] != "alert" { complaints.append("the push type is not alert") }
        if push.payload != .object(expected) {
            complaints.append("the payload should be\n\(JSON.object(expected).prettyPrinted)")
        }
        return complaints
    }

    /// Seed 004: the signal and nothing else.
    private func complaintsAboutWake(_ push: Push, signal: String) -> [String] {
        var complaints: [String] = []
        if !push.wasDecrypted { complaints.append("the message was not encrypted") }
        if push.payload != .object(["t": .string(signal)]) {
            complaints.append("the message should be {\"t\":\"\(signal)\"} and is \(push.line)")
        }
        return complaints
    }
}
