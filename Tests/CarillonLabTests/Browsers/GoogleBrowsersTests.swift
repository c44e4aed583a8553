import Cipher
import Testing

@testable import CarillonLab

/// Chromium's requests to Google's services, and their responses.
@Suite struct GoogleBrowsersTests {
    private var service = GoogleBrowsers(random: SecureRandom.bytes)

    private static func form(_ device: String, delete: Bool = false) -> [String: String] {
        var form = [
            "app": "org.chromium.linux", "X-subtype": "wp:http://localhost:1/#A-V2", "device": device,
            "sender": "BPUw",
        ]
        if delete { form["delete"] = "true" }
        return form
    }

    private static func login(_ device: String) -> MCSReader.Frame {
        let message =
            ProtocolBuffers.field(1, "chrome-63.0") + ProtocolBuffers.field(2, "mcs.android.com")
            + ProtocolBuffers.field(3, device)
        return MCSReader.Frame(tag: 2, message: message)
    }

    private static func frames(_ actions: [BrowserAction], to connection: Int) throws -> [MCSReader.Frame] {
        var reader = MCSReader()
        let bytes = actions.flatMap { action -> [UInt8] in
            guard case .send(let bytes, connection) = action else { return [] }
            return bytes
        }
        return try reader.read([MCSReader.version] + bytes)
    }

    private mutating func subscribe(_ device: String) throws -> String {
        let (answer, actions) = service.register(Self.form(device))
        guard case .subscribe(let id, let key)? = actions.first else { throw LabError.invalid("no subscription") }
        #expect(key == "BPUw" && answer == "token=\(id)")
        return id
    }

    @Test func everyCheckInGetsANewID() {
        let answers = (0..<2).map { _ in service.checkIn(now: 1_700_000_000_000) }
        #expect(answers[0] != answers[1])
        #expect(answers.allSatisfy { $0.starts(with: [8, 1, 24]) })
    }

    @Test mutating func aMessageWaitsForItsBrowsersNextConnection() throws {
        let id = try subscribe("7")
        _ = service.receive(Self.login("8"), from: 2, now: 0)
        let message = BrowserMessage(subscription: id, timeToLive: 60, body: [1, 2, 3], encoding: "aes128gcm")
        #expect(service.push(message, now: 0) == [])
        let frames = try Self.frames(service.receive(Self.login("7"), from: 3, now: 5), to: 3)
        #expect(frames.map(\.tag) == [3, 8])
        #expect(ProtocolBuffers.bytes(of: 1, in: frames[0].message) == Array("chrome-63.0".utf8))
        #expect(ProtocolBuffers.bytes(of: 3, in: frames[1].message) == Array("BPUw".utf8))
        #expect(ProtocolBuffers.bytes(of: 5, in: frames[1].message) == Array("org.chromium.linux".utf8))
        #expect(ProtocolBuffers.bytes(of: 21, in: frames[1].message) == [1, 2, 3])
        #expect(try Self.frames(service.push(message, now: 0), to: 3).map(\.tag) == [8])
        service.disconnect(3)
        #expect(service.push(message, now: 0) == [])
    }

    @Test mutating func unsubscribingEndsOnlyTheBrowsersOwn() throws {
        let (mine, other) = (try subscribe("7"), try subscribe("8"))
        #expect(service.register(Self.form("7", delete: true)).actions == [.expire(id: mine)])
        #expect(service.subscriptionCount == 1)
        #expect(service.register(Self.form("8", delete: true)).actions == [.expire(id: other)])
    }

    @Test mutating func browsersOwnRegistrationIsNotASubscription() {
        #expect(service.register(["device": "7", "app": "com.google.android.gms", "sender": "1"]).actions == [])
        #expect(service.subscriptionCount == 0)
    }

    @Test mutating func aPingIsAnsweredAndALoginWithoutANameEndsTheConnection() {
        #expect(service.receive(MCSReader.Frame(tag: 0, message: []), from: 1, now: 0) == [.send([1, 0], to: 1)])
        #expect(service.receive(MCSReader.Frame(tag: 2, message: [255]), from: 1, now: 0) == [.close(1)])
    }
}

/// The framing of Chromium's push connection.
@Suite struct MCSReaderTests {
    @Test func framesAreReadHoweverTheyArrive() throws {
        let frames = [
            MCSReader.Frame(tag: 2, message: Array(repeating: 7, count: 300)), MCSReader.Frame(tag: 0, message: []),
        ]
        let bytes =
            [MCSReader.version]
            + frames.flatMap { [$0.tag] + ProtocolBuffers.varint(UInt64($0.message.count)) + $0.message }
        for size in [1, 2, 3, 299, bytes.count] {
            var reader = MCSReader()
            var read: [MCSReader.Frame] = []
            for start in stride(from: 0, to: bytes.count, by: size) {
                read += try reader.read(bytes[start..<min(start + size, bytes.count)])
            }
            #expect(read == frames)
        }
    }

    @Test(arguments: [[40], [41, 2, 255, 255, 255, 255, 255, 1], [41, 2, 129, 128, 4]] as [[UInt8]])
    func malformedFrameIsRefused(bytes: [UInt8]) {
        var reader = MCSReader()
        #expect(throws: MCSReader.Malformed.self) { try reader.read(bytes) }
    }

    @Test(arguments: [0, 1, 127, 128, 300, 1 << 40, .max] as [UInt64])
    func numbersAreReadAsWritten(number: UInt64) {
        var bytes = ProtocolBuffers.varint(number)[...]
        #expect(ProtocolBuffers.readVarint(&bytes) == number)
        #expect(bytes.isEmpty)
    }

    @Test(arguments: [[], [128], [10, 5, 1], [11], Array(repeating: 255, count: 11)] as [[UInt8]])
    func malformedMessageHasNoFields(bytes: [UInt8]) {
        #expect(ProtocolBuffers.bytes(of: 1, in: bytes) == nil)
    }
}
