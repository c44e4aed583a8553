import Cipher

/// The services of Google that Chromium needs for push: check-in, registration, and the connection that brings messages
/// (MCS).
///
/// Chromium opens its connection anew after it has registered. A message waits for the next one.
struct GoogleBrowsers: Sendable {
    /// Where the endpoints of Chromium's subscriptions point, whatever answers the registration.
    static let endpointHost = "jmt17.google.com"

    private enum Tag {
        static let ping: UInt8 = 0
        static let pingAnswer: UInt8 = 1
        static let login: UInt8 = 2
        static let loginAnswer: UInt8 = 3
        static let message: UInt8 = 8
    }

    private struct Registration {
        /// The browser, as check-in named it.
        var device: String
        /// The page's part of the browser: `wp:ORIGIN#…`.
        var subtype: String
        /// The application server's key.
        var sender: String
        var app: String
    }

    private let random: RandomBytes
    /// By subscription.
    private var registrations: [String: Registration] = [:]
    /// The latest connection of each browser that is there.
    private var connections: [String: Int] = [:]
    /// Messages to browsers that are not there, oldest first.
    private var waiting: [String: [[UInt8]]] = [:]

    init(random: @escaping RandomBytes) { self.random = random }

    /// The number of browsers that are there.
    var connectionCount: Int { connections.count }

    /// The number of subscriptions that browsers made and did not end.
    var subscriptionCount: Int { registrations.count }

    /// Answers a check-in at `now`, in milliseconds since 1970: gives the browser a number and a secret.
    func checkIn(now: Int64) -> [UInt8] {
        let numbers = random(16)
        // Chromium takes the device's number for a signed one, and 0 for none.
        let device = numbers[..<8].reduce(0) { $0 << 8 | UInt64($1) } >> 1 | 1
        let secret = numbers[8...].reduce(0) { $0 << 8 | UInt64($1) } | 1
        return ProtocolBuffers.field(1, 1) + ProtocolBuffers.field(3, UInt64(max(0, now)))
            + ProtocolBuffers.field(7, fixed: device) + ProtocolBuffers.field(8, fixed: secret)
    }

    /// Answers a form to the registration: a page subscribes or unsubscribes, or the browser registers itself.
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

    /// Takes a frame at `now`, in milliseconds since 1970.
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

    /// The connection is gone.
    mutating func disconnect(_ connection: Int) {
        connections = connections.filter { $0.value != connection }
    }

    /// Passes on a message at `now`, in milliseconds since 1970; nothing for a subscription of no browser.
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
