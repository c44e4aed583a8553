import Nostr

/// Requests inside NIP-46 sessions.
enum RemoteSigningJudge {
    static func judge(_ bytes: UnsafeRawBufferPointer) -> Bool {
        guard let text = String(validating: bytes, as: UTF8.self) else { return false }
        guard let request = try? RemoteSigningRequest(json: text) else { return true }
        promise((1...RemoteSigningRequest.idLimit).contains(request.id.utf8.count), "an id is bounded")
        let again = promised("a request can be written") { try RemoteSigningRequest(json: request.json) }
        promise(again == request, "and reads the same")
        return true
    }
}
