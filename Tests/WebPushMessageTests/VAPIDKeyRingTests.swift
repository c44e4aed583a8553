import CarillonABI
import Cipher
import Foundation
import PluginKit
import PluginTestSupport
import Testing

@testable import WebPushMessage

/// Keys in files of a folder that is deleted with the test.
final class VAPIDKeyRingTests {
    private let folder = FileManager.default.temporaryDirectory.appendingPathComponent("vapid-\(UUID())")
    private let keys = (0..<3).map { _ in P256PrivateKey() }

    init() throws {
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        for (index, key) in keys.enumerated() {
            try key.pemRepresentation.write(
                to: folder.appendingPathComponent("\(index).pem"),
                atomically: true,
                encoding: .utf8
            )
        }
        try "junk".write(to: folder.appendingPathComponent("junk.pem"), atomically: true, encoding: .utf8)
    }

    deinit {
        try? FileManager.default.removeItem(at: folder)
    }

    private func path(_ name: String) -> String { folder.appendingPathComponent("\(name).pem").path }

    private func block(
        _ current: String?,
        former: [Any]? = nil,
        subject: String? = "mailto:ops@example.com"
    ) throws -> JSONObject {
        var members: [String: Any] = [:]
        members["vapid_key_file"] = current.map(path)
        members["subject"] = subject
        members["old_vapid_key_files"] = former
        return try JSONObject(parsing: String(decoding: JSONSerialization.data(withJSONObject: members), as: UTF8.self))
    }

    private func mistake(_ block: JSONObject) -> String? {
        do throws(PluginError) {
            _ = try VAPIDKeyRing(block)
            return nil
        } catch {
            return error.description
        }
    }

    private func publicKey(_ index: Int) -> String { Base64URL.encode(keys[index].publicKey.x963Representation) }

    @Test func holdsTheCurrentKeyFirstAndFormerOnesAfterIt() throws {
        let ring = try VAPIDKeyRing(block("0", former: [path("1"), path("2")]))
        #expect(ring.tokens.map(\.publicKey) == (0..<3).map(publicKey))
        #expect(try VAPIDKeyRing(block("0")).tokens.count == 1)
        #expect(try VAPIDKeyRing(block("0", former: [])).tokens.count == 1)
    }

    @Test func keyIsOptionalByDefault() throws {
        #expect(try VAPIDKeyRing.optional(JSONObject(parsing: #"{"subject":null}"#)) == nil)
        #expect(try VAPIDKeyRing.optional(block("0"))?.tokens.count == 1)
        #expect(throws: PluginError.self) { try VAPIDKeyRing.optional(self.block(nil)) }
    }

    @Test func errorsNameTheKeyAndTheExpectedValue() throws {
        let rows: [(JSONObject, String)] = [
            (try block("0", subject: nil), "subject: expected the operator's contact for push services"),
            (try block(nil), "vapid_key_file: expected the path of a private key in PEM"),
            (try block("0", former: [7]), "old_vapid_key_files: expected a list of at most 16 paths of former"),
            (
                try block("0", former: ["/nowhere.pem"]),
                "old_vapid_key_files: expected a file that can be read, /nowhere.pem"
            ),
            (
                try block("0", former: [path("junk")]),
                "old_vapid_key_files: expected a PEM text with a private key on P-256"
            ),
            (
                try block("0", former: [path("1"), path("0")]),
                "old_vapid_key_files: expected former keys, found a duplicate"
            ),
            (
                try block("0", former: [path("1"), path("1")]),
                "old_vapid_key_files: expected former keys"
            ),
            (
                try block("0", former: Array(repeating: path("1"), count: 17)),
                "old_vapid_key_files: expected a list of at most 16"
            ),
            (
                try JSONObject(parsing: #"{"vapid_key":"x","old_vapid_key_files":"old.pem","subject":"mailto:a@b.c"}"#),
                "vapid_key: expected a PEM text"
            ),
        ]
        for (block, words) in rows {
            #expect(mistake(block)?.hasPrefix(words) == true, "\(words)")
        }
    }

    @Test func keyIsFoundByAnyPublicKeyEncoding() throws {
        let ring = try VAPIDKeyRing(block("0", former: [path("1")]))
        let index = { (text: String) in
            SampleRegistration(token: "x", fields: [("vapid", text)]).withABI { registration in
                SigningKey(Registration(registration), in: ring)
            }
        }
        let point = keys[1].publicKey.x963Representation
        #expect(index(publicKey(0)) == .known(0))
        #expect(index(publicKey(1)) == .known(1))
        #expect(index(Base64URL.encodePadded(point)) == .known(1))
        #expect(index(Base64.encode(point)) == .known(1))
        #expect(index(publicKey(2)) == .unknown)
        for text in ["x", "BA", String(repeating: "A", count: 87), String(repeating: "A", count: 4000)] {
            #expect(index(text) == .unknown)
        }
        #expect(index("") == .unspecified)
    }
}
