import Cipher
import Console
import Core
import NIOCore
import Nostr
import Testing
import TimeTestSupport

@testable import Operations

/// Requests signed with a Nostr key (NIP-98).
@Suite struct OwnerProofTests {
    private static let start = Timestamp(seconds: 1_773_446_400)
    private static let url = "https://push.example.com/x"

    private let clock = ManualClock(start)
    private let alice: KeyPair

    init() throws {
        alice = try KeyPair(random: SecureRandom.bytes)
    }

    private func authenticator() -> OwnerAuthenticator { OwnerAuthenticator(urls: { [Self.url] }, now: clock.now) }

    private func event(
        _ tags: [[String]] = [["u", "\(url)/v1/me"], ["method", "GET"]],
        kind: Kind = .httpAuthentication,
        at seconds: Int64 = 0
    ) throws -> Event {
        try Event.signed(
            kind: kind,
            createdAt: Self.start.seconds + seconds,
            tags: tags,
            content: "",
            by: alice
        )
    }

    private func ask(
        _ authenticator: OwnerAuthenticator,
        _ event: Event,
        method: String = "GET",
        target: String = "/v1/me",
        body: String = ""
    ) throws(APIError) -> APIPrincipal {
        let head = APIRequestHead(
            method: method,
            target: target,
            authorization: [],
            peer: "192.0.2.1",
            body: ByteBuffer(string: body)
        )
        return try authenticator.principal(head, Base64.encode(event.json))
    }

    @Test func signedRequestIdentifiesItsSigner() throws {
        #expect(try ask(authenticator(), event()) == .owner(alice.publicKey.hex))
        let late = try event(at: 60)
        #expect(try ask(authenticator(), late) == .owner(alice.publicKey.hex))
    }

    @Test func proofIsValidOnce() throws {
        let authenticator = authenticator()
        let event = try event(at: 30)
        _ = try ask(authenticator, event)
        for seconds in [0, 60, 30] {
            clock.advance(by: .seconds(seconds))
            #expect(throws: APIError.self) { try ask(authenticator, event) }
        }
    }

    /// Earlier proofs are not remembered, so none of them counts.
    @Test func anEventFromBeforeTheStartDoesNotCount() throws {
        let event = try event()
        _ = try ask(authenticator(), event)
        clock.advance(by: .seconds(10))
        let restarted = authenticator()
        #expect(throws: APIError.self) { try ask(restarted, event) }
    }

    @Test func proofIsValidForOneRequest() throws {
        let body = #"{"mode":"wake"}"#
        let url = "\(Self.url)/v1/me/devices/1?a=b"
        let hash = Hex.encode(SHA256.hash(Array(body.utf8)))
        func sign(_ tags: [[String]]) throws -> Event { try event(tags) }
        let good = [["u", url], ["method", "PATCH"], ["payload", hash]]
        let target = "/v1/me/devices/1?a=b"
        #expect(throws: Never.self) {
            try ask(authenticator(), sign(good), method: "PATCH", target: target, body: body)
        }
        let others: [(tags: [[String]], method: String, target: String, body: String)] = [
            (good, "PATCH", target, body + " "), (good, "PATCH", target, ""), (good, "DELETE", target, body),
            (good, "PATCH", "/v1/me/devices/1", body), (good, "PATCH", "/v1/me/devices/2?a=b", body),
            ([["u", url], ["method", "PATCH"]], "PATCH", target, body),
            (
                [["u", url.replacing("https", with: "http")], ["method", "PATCH"], ["payload", hash]], "PATCH", target,
                body
            ),
            ([["u", "https://evil.example/v1/me"], ["method", "GET"]], "GET", "/v1/me", ""),
            ([["u", "\(Self.url)/v1/me"], ["method", "get"]], "GET", "/v1/me", ""),
            ([["method", "GET"]], "GET", "/v1/me", ""), ([["u", "\(Self.url)/v1/me"]], "GET", "/v1/me", ""),
            ([], "GET", "/v1/me", ""),
        ]
        for other in others {
            #expect(throws: APIError.self, "\(other)") {
                try ask(authenticator(), sign(other.tags), method: other.method, target: other.target, body: other.body)
            }
        }
    }

    @Test func invalidProofIsRefused() throws {
        let authenticator = authenticator()
        let head = APIRequestHead(method: "GET", target: "/v1/me", authorization: [], peer: "")
        for text in ["", "none", Base64.encode(Array("{}".utf8)), String(repeating: "A", count: 20_000)] {
            #expect(throws: APIError.self) { try authenticator.principal(head, text) }
        }
        for wrong in [try event(kind: .textNote), try event(at: 61), try event(at: -61)] {
            #expect(throws: APIError.self) { try ask(authenticator, wrong) }
        }
        // The same event with another content has another id, so the signature is invalid.
        let json = String(decoding: try event().json, as: UTF8.self)
        let forged = json.replacing(#""content":"""#, with: #""content":"x""#)
        #expect(forged != json)
        #expect(throws: APIError.self) { try authenticator.principal(head, Base64.encode(Array(forged.utf8))) }
    }

    /// A forged copy never keeps the real event from counting.
    @Test func forgedCopyDoesNotUseTheProof() throws {
        let authenticator = authenticator()
        let event = try event()
        let signature = event.signature
        let json = String(decoding: event.json, as: UTF8.self)
        let digits = Hex.encode(signature.first.array)
        let forged = json.replacing(digits, with: String(digits.reversed()))
        let head = APIRequestHead(method: "GET", target: "/v1/me", authorization: [], peer: "")
        #expect(throws: APIError.self) { try authenticator.principal(head, Base64.encode(Array(forged.utf8))) }
        #expect(try ask(authenticator, event) == .owner(alice.publicKey.hex))
    }
}
