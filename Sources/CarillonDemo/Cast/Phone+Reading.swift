import CarillonLab
import Nostr

extension Phone {
    /// What a sealed notification holds, in bytes, blanks behind it included.
    static let sealedByteCount = 2048

    /// What the app makes of a push: what is in the envelope where there is one, else the payload. Nil for an envelope that the
    /// phone's key does not open.
    func reads(_ push: Push) -> JSON? {
        mode == .sealed ? opened(push).flatMap { JSON(parsing: Array($0.utf8)) } : push.payload
    }

    /// The text in the envelope of a push from FCM.
    func opened(_ push: Push) -> String? {
        guard let text = push.payload["message"]?["data"]?["sealed"]?.string,
            let envelope = JSON(parsing: Array(text.utf8)), envelope["alg"]?.string == "nip44",
            let router = envelope["from"]?.string.flatMap(PublicKey.init(hex:))
        else { return nil }
        return envelope["ct"]?.string.flatMap { try? sealingKey?.decrypt($0, from: router) }
    }

    /// What the phone's owner sees of a push, else what the app gets, else why it was refused.
    func shows(_ push: Push) -> [String] {
        guard push.isAccepted else { return ["refused: \(push.status)"] }
        guard let content = reads(push) else { return ["an envelope that does not open"] }
        let texts = content["aps"]?["alert"] ?? content["notification"] ?? content
        let shown = [texts["title"], texts["body"]].compactMap { $0?.string }
        return shown.isEmpty ? [push.line] : shown
    }
}
