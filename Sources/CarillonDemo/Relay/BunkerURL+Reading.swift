import Foundation
import Nostr

extension BunkerURL {
    /// Reads what `carillon keys bunker` prints.
    init(reading text: String) throws {
        guard let parts = URLComponents(string: text), parts.scheme == "bunker",
            let signer = parts.host.flatMap(PublicKey.init(hex:))
        else { throw DemoError("--bunker: expected bunker://<key>?relay=<url>&secret=<text>") }
        let items = parts.queryItems ?? []
        self.init(
            signer: signer,
            relays: items.filter { $0.name == "relay" }.compactMap(\.value),
            secret: items.first { $0.name == "secret" }?.value
        )
    }
}
