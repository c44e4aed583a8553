import Core
import Delivery
import Push
import RandomTestSupport
import Testing
import TimeTestSupport

struct NotificationBlobTests {
    private let full = Notification(
        mode: .alert,
        signal: .zap,
        urgency: .low,
        count: .max,
        title: "⚡ 21 sats",
        subtitle: "under your note",
        body: "Grüße\n\u{0}👩‍👩‍👧",
        category: "kind_9735",
        thread: "abc",
        collapseKey: "c",
        url: "nostr:note1",
        actions: [
            NotificationAction(id: "app.reply", label: "Reply", url: "app://reply", icon: "arrow"),
            NotificationAction(id: "app.mute", label: ""),
        ],
        data: #"{"k":1}"#,
        native: ["ios": #"{"sound":"default"}"#, "android": "{}"],
        expiresAt: .distantPast,
        neutral: NeutralTexts(title: "New notification", body: "n"),
        neutralPresentation: Presentation(
            subtitle: "s",
            category: "news",
            thread: "t",
            collapseKey: "k",
            url: "app://inbox",
            actions: [NotificationAction(id: "app.open", label: "Open", url: "app://open", icon: "star")],
            data: #"{"inbox":true}"#,
            native: ["ios": #"{"badge":1}"#, "ntfy": #"{"priority":1}"#]
        ),
        sealed: #"{"v":1}"#
    )

    private func decode(_ bytes: [UInt8]) throws -> Notification {
        try bytes.withUnsafeBytes { bytes throws(BlobError) in try Notification(blob: bytes) }
    }

    @Test func everyFieldRoundTrips() throws {
        #expect(try decode(full.blob) == full)
    }

    @Test(arguments: [nil, Int64(-1)]) func eventRoundTrips(address: Int64?) throws {
        for notification in [full, .wake(.mention, urgency: .normal)] {
            var notification = notification
            notification.origin = EventOrigin(
                event: SIMD4(0, 1, 2, .max),
                author: SIMD4(repeating: 5),
                createdAt: .min,
                address: address
            )
            let blob = notification.blob
            #expect(try decode(blob) == notification && decode(blob).origin == notification.origin)
            for length in 0..<blob.count {
                #expect(throws: BlobError.self, "\(length) bytes") { try decode(Array(blob.prefix(length))) }
            }
            // A stricter form concerns the same event.
            #expect(notification.stricter?.origin == (notification.mode == .wake ? nil : notification.origin))
        }
        #expect(throws: BlobError.unknownVersion(0x20)) { try decode([0x20] + full.blob.dropFirst()) }
    }

    @Test func aWakeUpIsSmall() throws {
        let wake = Notification.wake(.mention, urgency: .normal, count: 7)
        #expect(try decode(wake.blob) == wake)
        #expect(wake.blob.count <= 24)
    }

    @Test func emptyPartsTakeNoSpace() throws {
        var plain = full
        #expect(plain.blob.first == 0x61)
        plain.neutralPresentation = Presentation()
        #expect(plain.blob.first == 0x21)
        #expect(try decode(plain.blob) == plain)
        plain.neutral = NeutralTexts()
        plain.sealed = ""
        #expect(plain.blob.first == 0x01)
        #expect(try decode(plain.blob) == plain)
        var presented = full
        (presented.neutral, presented.sealed) = (NeutralTexts(), "")
        #expect(try decode(presented.blob) == presented)
    }

    @Test func equalNotificationsHaveEqualBlobs() {
        var other = full
        other.native = Dictionary(
            uniqueKeysWithValues: full.native.sorted { $0.key > $1.key }.map { ($0.key, $0.value) }
        )
        #expect(other.blob == full.blob)
    }

    @Test func everyTruncationIsRefused() {
        let blob = full.blob
        for length in 0..<blob.count {
            #expect(throws: BlobError.self, "\(length) bytes") { try decode(Array(blob.prefix(length))) }
        }
    }

    @Test func everyFlippedByteIsReadOrRefused() {
        let blob = full.blob
        var refused = 0
        for index in blob.indices {
            for mask: UInt8 in [0x01, 0x80, 0xFF] {
                var hostile = blob
                hostile[index] ^= mask
                do {
                    #expect(try decode(hostile) != full)
                } catch {
                    refused += 1
                }
            }
        }
        #expect(refused > blob.count / 2)
    }

    @Test func randomBytesAfterAValidVersionAreReadOrRefused() {
        var random = SeededGenerator(seed: 4)
        var refused = 0
        for _ in 0..<5000 {
            let length = Int.random(in: 0...64, using: &random)
            let bytes = (0..<length).map { _ in UInt8.random(in: 0...255, using: &random) }
            do { _ = try decode([Notification.blobVersion, 0, 1] + bytes) } catch { refused += 1 }
        }
        #expect(refused > 4900)
    }

    @Test func otherVersionsAndTrailingBytesAreRefusedByName() {
        var newer = full.blob
        newer[0] = newer[0] & 0xF0 | Notification.blobVersion + 1
        #expect(throws: BlobError.unknownVersion(newer[0])) { try decode(newer) }
        #expect(throws: BlobError.trailingBytes(1)) { try decode(full.blob + [0]) }
        #expect(throws: BlobError.truncated(offset: 0)) { try decode([]) }
    }

    @Test func excessiveLengthsAllocateNoMemory() {
        let header: [UInt8] = [Notification.blobVersion, 0, 1, 1, 0]
        let endless = [UInt8](repeating: 0xFF, count: 9) + [0x01]
        #expect(throws: BlobError.truncated(offset: 5)) { try decode(header + endless) }
        let overlong = [UInt8](repeating: 0xFF, count: 10) + [0x01]
        #expect(throws: BlobError.invalidValue(field: "integer", offset: 5)) {
            try decode(header + overlong)
        }
    }

    @Test func textThatIsNotUTF8IsRefused() {
        let header: [UInt8] = [Notification.blobVersion, 0, 1, 1, 0]
        #expect(throws: BlobError.invalidUTF8(offset: 6)) { try decode(header + [2, 0xC3, 0x28]) }
    }
}
