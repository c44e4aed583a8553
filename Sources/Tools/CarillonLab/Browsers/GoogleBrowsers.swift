import Cipher
import NIOCore
import NIOSSL

/// The services of Google that Chromium needs for push: check-in, registration, and the connection for messages (MCS).
///
/// Chromium reopens its connection after it has registered. A message waits for the next one.
struct GoogleBrowsers: Sendable {
    /// The host of Chromium's endpoints, whatever the registration returns.
    static let endpointHost = "jmt17.google.com"

    private enum Tag {
        static let ping: UInt8 = 0
        static let pingAnswer: UInt8 = 1
        static let login: UInt8 = 2
        static let loginAnswer: UInt8 = 3
        static let message: UInt8 = 8
    }

    private struct Registration {
        /// The browser's number from check-in.
        var device: String
        /// The web page's ID in the browser: `wp:ORIGIN#…`.
        var subtype: String
        /// The application server's key.
        var sender: String
        var app: String
    }

    private let random: RandomBytes
    /// By subscription.
    private var registrations: [String: Registration] = [:]
    /// The latest connection of each connected browser.
    private var connections: [String: Int] = [:]
    /// Messages to disconnected browsers, oldest first.
    private var waiting: [String: [[UInt8]]] = [:]

    init(random: @escaping RandomBytes) { self.random = random }

    /// The number of connected browsers.
    var connectionCount: Int { connections.count }

    /// The number of current subscriptions of browsers.
    var subscriptionCount: Int { registrations.count }

    /// Answers a check-in at `now`, in milliseconds since 1970: gives the browser a number and a secret.
    func checkIn(now: Int64) -> [UInt8] {
        let numbers = random(16)
        // Chromium reads the device's number as signed, and 0 as none.
        let device = numbers[..<8].reduce(0) { $0 << 8 | UInt64($1) } >> 1 | 1
        let secret = numbers[8...].reduce(0) { $0 << 8 | UInt64($1) } | 1
        return ProtocolBuffers.field(1, 1) + ProtocolBuffers.field(3, UInt64(max(0, now)))
            + ProtocolBuffers.field(7, fixed: device) + ProtocolBuffers.field(8, fixed: secret)
    }

    /// Processes a registration form: a page subscribes or unsubscribes, or the browser registers itself.
    mutating func register(_ form: [String: String]) -> (answer: String, actions: [BrowserAction]) {
        let (device, subtype) = (form["device"] ?? "", form["X-subtype"])
        guard form["delete"] == nil else {
            let ended = registrations.filter { $0.value.device == device && $0.value.subtype == subtype }.keys.sorted()
            for id in ended { registrations[id] = nil }
            return ("token=\(subtype ?? "")", ended.map(BrowserAction.expire))
        }
        let id = Hex.encode(random(11)) + "APA91b" + Hex.encode(random(16))
        guard let subtype, let sender = form["sender"] else { return ("token=\(id)", []) }
        registrations[id] = Registration(device: device, subtype: subtype, sender: sender, app: form["app"] ?? "")
        return ("token=\(id)", [.subscribe(id: id, key: sender)])
    }

    /// Processes a frame at `now`, in milliseconds since 1970.
    mutating func receive(_ frame: MCSReader.Frame, from connection: Int, now: Int64) -> [BrowserAction] {
        switch frame.tag {
        case Tag.ping: return [.send(Self.frame(Tag.pingAnswer, []), to: connection)]
        case Tag.login:
            // LoginRequest: id, domain, user.
            guard let id = ProtocolBuffers.bytes(of: 1, in: frame.message),
                let user = ProtocolBuffers.bytes(of: 3, in: frame.message)
            else { return [.close(connection)] }
            let device = String(decoding: user, as: UTF8.self)
            connections[device] = connection
            let answer = ProtocolBuffers.field(1, id) + ProtocolBuffers.field(8, UInt64(max(0, now)))
            let messages = waiting.removeValue(forKey: device) ?? []
            return ([Self.frame(Tag.loginAnswer, answer)] + messages).map { .send($0, to: connection) }
        default: return []
        }
    }

    /// Removes a closed connection.
    mutating func disconnect(_ connection: Int) {
        connections = connections.filter { $0.value != connection }
    }

    /// Forwards a message at `now`, in milliseconds since 1970; returns no action if the subscription is not a
    /// browser's.
    mutating func push(_ message: BrowserMessage, now: Int64) -> [BrowserAction] {
        guard let registration = registrations[message.subscription] else { return [] }
        var data = [("subtype", registration.subtype)]
        if !message.body.isEmpty { data.append(("content-encoding", message.encoding ?? "")) }
        // DataMessageStanza.
        var stanza = ProtocolBuffers.field(2, Hex.encode(random(16)))
        stanza += ProtocolBuffers.field(3, registration.sender) + ProtocolBuffers.field(5, registration.app)
        for (name, value) in data {
            stanza += ProtocolBuffers.field(7, ProtocolBuffers.field(1, name) + ProtocolBuffers.field(2, value))
        }
        stanza += ProtocolBuffers.field(9, "0:" + Hex.encode(random(16)))
        stanza += ProtocolBuffers.field(17, UInt64(max(0, message.timeToLive)))
        stanza += ProtocolBuffers.field(18, UInt64(max(0, now)))
        if !message.body.isEmpty { stanza += ProtocolBuffers.field(21, message.body) }
        let frame = Self.frame(Tag.message, stanza)
        guard let connection = connections[registration.device] else {
            waiting[registration.device, default: []].append(frame)
            return []
        }
        return [.send(frame, to: connection)]
    }

    private static func frame(_ tag: UInt8, _ message: [UInt8]) -> [UInt8] {
        [tag] + ProtocolBuffers.varint(UInt64(message.count)) + message
    }
}

/// The TLS listener for Chromium's push connection (`--gcm-mcs-endpoint`).
struct ChromiumServer: LabServer {
    let connections: Connections
    let tls: NIOSSLContext
    let browsers: Browsers

    var scheme: String { "https" }

    func configure(_ handlers: ChannelPipeline.SynchronousOperations, number: Int) throws {
        try handlers.addHandlers(
            NIOSSLServerHandler(context: tls),
            ChromiumConnection(number: number, browsers: browsers)
        )
    }
}

/// One push connection of a Chromium: frames in and out.
private final class ChromiumConnection: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    private let number: Int
    private let browsers: Browsers
    private var reader = MCSReader()

    init(number: Int, browsers: Browsers) {
        self.number = number
        self.browsers = browsers
    }

    func channelActive(context: ChannelHandlerContext) {
        browsers.connect(number, context.channel)
        let greeting = context.channel.allocator.buffer(bytes: [MCSReader.version])
        context.writeAndFlush(wrapOutboundOut(greeting), promise: nil)
        context.fireChannelActive()
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        do {
            for frame in try reader.read(unwrapInboundIn(data).readableBytesView) {
                browsers.receive(google: frame, from: number)
            }
        } catch {
            context.close(promise: nil)
        }
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        context.close(promise: nil)
    }
}

/// Parses Chromium's side of its push connection (MCS): a version byte, then a tag, a length and a message each.
struct MCSReader: Sendable {
    /// The peer's bytes break the protocol.
    struct Malformed: Error {}

    struct Frame: Sendable, Equatable {
        var tag: UInt8
        var message: [UInt8]
    }

    /// The version that both sides send first.
    static let version: UInt8 = 41
    private static let longest: UInt64 = 65_536

    private var buffer: [UInt8] = []
    private var isGreeted = false

    /// Takes bytes as they arrive, and returns complete frames.
    mutating func read(_ bytes: some Sequence<UInt8>) throws(Malformed) -> [Frame] {
        buffer += bytes
        var rest = buffer[...]
        if !isGreeted, let first = rest.first {
            guard first == Self.version else { throw Malformed() }
            isGreeted = true
            rest = rest.dropFirst()
        }
        var frames: [Frame] = []
        while let tag = rest.first {
            var next = rest.dropFirst()
            guard let length = ProtocolBuffers.readVarint(&next) else {
                guard next.count < 5 else { throw Malformed() }
                break
            }
            guard length <= Self.longest else { throw Malformed() }
            guard next.count >= Int(length) else { break }
            frames.append(Frame(tag: tag, message: Array(next.prefix(Int(length)))))
            rest = next.dropFirst(Int(length))
        }
        buffer = Array(rest)
        return frames
    }
}

/// The few parts of Protocol Buffers' encoding that Chromium's push connection needs.
///
/// https://protobuf.dev/programming-guides/encoding/
enum ProtocolBuffers {
    static func varint(_ number: UInt64) -> [UInt8] {
        var (rest, bytes) = (number, [UInt8]())
        while rest > 127 {
            bytes.append(UInt8(truncatingIfNeeded: rest) | 128)
            rest >>= 7
        }
        return bytes + [UInt8(rest)]
    }

    static func field(_ number: UInt64, _ value: UInt64) -> [UInt8] { varint(number << 3) + varint(value) }

    static func field(_ number: UInt64, _ value: [UInt8]) -> [UInt8] {
        varint(number << 3 | 2) + varint(UInt64(value.count)) + value
    }

    static func field(_ number: UInt64, _ text: String) -> [UInt8] { field(number, Array(text.utf8)) }

    static func field(_ number: UInt64, fixed value: UInt64) -> [UInt8] {
        varint(number << 3 | 1) + (0..<8).map { UInt8(truncatingIfNeeded: value >> ($0 * 8)) }
    }

    /// The first field of this number that holds bytes; nil if there is none, or the message is malformed.
    static func bytes(of wanted: UInt64, in message: [UInt8]) -> [UInt8]? {
        var rest = message[...]
        while let key = readVarint(&rest) {
            switch key & 7 {
            case 0: guard readVarint(&rest) != nil else { return nil }
            case 1: rest = rest.dropFirst(8)
            case 2:
                guard let length = readVarint(&rest), length <= UInt64(rest.count) else { return nil }
                if key >> 3 == wanted { return Array(rest.prefix(Int(length))) }
                rest = rest.dropFirst(Int(length))
            case 5: rest = rest.dropFirst(4)
            default: return nil
            }
        }
        return nil
    }

    /// Takes a number from the front; nil if it is incomplete or has more than 64 bits.
    static func readVarint(_ bytes: inout ArraySlice<UInt8>) -> UInt64? {
        var number: UInt64 = 0
        for (place, byte) in bytes.prefix(10).enumerated() {
            guard place < 9 || byte < 2 else { return nil }
            number |= UInt64(byte & 127) << UInt64(place * 7)
            if byte < 128 {
                bytes = bytes.dropFirst(place + 1)
                return number
            }
        }
        return nil
    }
}
