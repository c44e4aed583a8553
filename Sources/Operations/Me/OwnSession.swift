import Cipher
import Console
import Foundation
import NIOCore
import Nostr
import Registry
import Units

/// What accounts ask about themselves inside a NIP-46 session: the same as over HTTP, with the same proof.
///
/// A session proves which client asks, and not whose account it is for; the signed event (NIP-98) does. Its `u` begins
/// with the router's key in place of an address, since a session has none.
package struct OwnSession: Sendable {
    /// What stands for the API's address.
    package static func url(of key: PublicKey) -> String { "nostr:\(NIP19.npub(key))" }

    private let api: DirectAPI

    /// Of `operations` those for owners. `owners` remembers the proofs that were used, those over HTTP as well.
    package init(
        _ operations: [APIOperation],
        owners: OwnerAuthenticator,
        now: @escaping @Sendable () -> Timestamp
    ) {
        api = DirectAPI(
            authenticator: Owners(owners: owners),
            endpoints: operations.map(\.endpoint).filter { $0.access == .owner },
            now: now
        )
    }

    private struct Owners: APIAuthenticator {
        let owners: OwnerAuthenticator

        func principal(of head: APIRequestHead, for access: APIAccess) throws(APIProblem) -> APIPrincipal? {
            try head.credentials("nostr").map { proof throws(APIProblem) in try owners.principal(head, proof) }
        }
    }

    private struct Problem: Decodable {
        var detail: String
    }

    /// The answer as JSON to the request that an event describes, or why there is none: the status that HTTP would
    /// have, and the reason. `client` is who has the session.
    package func answer(proof json: String, body: String, client: PublicKey) async -> Result<String, OwnRefusal> {
        guard let event = try? Event(json: Array(json.utf8)), let url = event.value(of: "u"),
            let method = event.value(of: "method"), let target = url.range(of: "/v1/me").map({ url[$0.lowerBound...] })
        else {
            return .failure(
                OwnRefusal(
                    description: "401 expected the JSON of an event of kind 27235 (NIP-98), whose u is "
                        + "nostr:<the router's npub>/v1/me"
                )
            )
        }
        let head = APIRequestHead(
            method: method,
            target: String(target),
            authorization: ["Nostr " + Base64.encode(Array(json.utf8))],
            peer: client.hex,
            body: ByteBuffer(string: body)
        )
        let answer = await api.answer(head)
        guard (200...299).contains(answer.status) else {
            let problem = try? JSONDecoder().decode(Problem.self, from: Data(answer.body.utf8))
            // The event is a parameter here, and no header field.
            let detail = (problem?.detail ?? "").replacing("Authorization: ", with: "", maxReplacements: 1)
            return .failure(OwnRefusal(description: "\(answer.status) \(detail)"))
        }
        return .success(answer.body.trimmingCharacters(in: .whitespacesAndNewlines))
    }
}

/// Why there is no answer: the status that HTTP would have, and words.
package struct OwnRefusal: Error, CustomStringConvertible {
    package let description: String
}
