import Foundation
import Testing

@testable import Nostr

/// The events printed in the NIPs; their ids and signatures were judged by another implementation.
@Suite struct EventVectorTests {
    private struct Example {
        let nip: String
        let json: [UInt8]
        let hasRightID: Bool
        let isSigned: Bool?
    }

    private func examples() throws -> [Example] {
        let url = try #require(Bundle.module.url(forResource: "Vectors/nostr-nip-examples", withExtension: "json"))
        let file = try #require(JSONSerialization.jsonObject(with: Data(contentsOf: url)) as? [String: Any])
        return try #require(file["events"] as? [[String: Any]]).map { example in
            let event = try #require(example["event"] as? [String: Any])
            return Example(
                nip: try #require(example["nip"] as? String),
                json: Array(try JSONSerialization.data(withJSONObject: event, options: [.prettyPrinted])),
                hasRightID: try #require(example["id_ok"] as? Bool),
                isSigned: example["sig_ok"] as? Bool
            )
        }
    }

    @Test func idsAndSignaturesOfTheNIPsAreJudgedRight() throws {
        let examples = try examples()
        #expect(examples.count == 7)
        let verifier = EventVerifier()
        for example in examples {
            guard let isSigned = example.isSigned else {
                #expect(throws: EventError.missing(.signature)) { try Event(json: example.json) }
                continue
            }
            let expected: Verification =
                example.hasRightID ? (isSigned ? .valid : .wrongSignature) : .wrongID
            let event = try Event(json: example.json)
            #expect(verifier.verify(event) == expected, "\(example.nip)")
            #expect((event.computedID == event.id) == example.hasRightID)
            let scanned = try example.json.withUnsafeBytes { bytes in
                var scanner = EventScanner()
                return verifier.verify(try scanner.scan(bytes), in: bytes)
            }
            #expect(scanned == expected, "\(example.nip)")
        }
    }

    @Test func anotherContentIsAnotherIDAndAnotherKeyAnotherSignature() throws {
        for example in try examples() where example.hasRightID && example.isSigned == true {
            var event = try Event(json: example.json)
            try event.verify()
            event.signature.second.words.3 ^= 1
            #expect(throws: EventError.wrongSignature) { try event.verify() }
            event.content += " "
            #expect(throws: EventError.wrongID) { try event.verify() }
        }
    }
}
