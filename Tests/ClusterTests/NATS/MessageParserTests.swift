import Testing

@testable import Cluster

/// Messages from servers, in pieces of every size.
struct MessageParserTests {
    private static let stream =
        "INFO {\"server_name\":\"a\",\"version\":\"2.15.1\",\"max_payload\":1048576,\"headers\":true,\"new\":[1]} \r\n"
        + "+OK\r\nPING\r\npong\r\n"
        + "MSG one.two 7 5\r\nh\r\nlo\r\n"
        + "MSG one 8 back.here 0\r\n\r\n"
        + "HMSG one 9 29 33\r\nNATS/1.0\r\nA: 1\r\nB:2\r\nA: 3\r\n\r\nbody\r\n"
        + "HMSG one 9 back 30 30\r\nNATS/1.0 503 No Responders\r\n\r\n\r\n"
        + "-ERR 'Permissions Violation'\r\n"

    private static func words(_ message: ServerMessage) -> String {
        switch message {
        case .info(let info): "info \(info.name ?? "") \(info.version) \(info.maxPayload)"
        case .message(let message, let subscription):
            "\(subscription) \(message.subject) \(message.replyTo ?? "-") "
                + "\(message.headers.status ?? 0)\(message.headers.statusText) \(message.headers["A"] ?? "")"
                + "\(message.headers["B"] ?? "") \(message.payload.count)"
        case .ping: "ping"
        case .pong: "pong"
        case .ok: "ok"
        case .error(let words): "error \(words)"
        }
    }

    @Test(arguments: [1, 2, 3, 7, 1_000])
    func piecesOfAnySizeMakeTheSameMessages(_ size: Int) throws {
        var parser = MessageParser()
        var found: [String] = []
        var rest = Array(Self.stream.utf8)[...]
        while !rest.isEmpty {
            parser.append(rest.prefix(size))
            rest = rest.dropFirst(size)
            while let message = try parser.next() { found.append(Self.words(message)) }
        }
        #expect(
            found == [
                "info a 2.15.1 1048576", "ok", "ping", "pong", "7 one.two - 0  5", "8 one back.here 0  0",
                "9 one - 0 12 4", "9 one back 503No Responders  0", "error Permissions Violation",
            ]
        )
    }

    @Test(arguments: [
        "HELLO\r\n", "MSG a 1\r\n", "MSG a b 1\r\n", "MSG a 1 -1\r\n", "MSG a 1 99999999999\r\n",
        "MSG a 1 2\r\nabc\r\n", "HMSG a 1 5 4\r\n", "HMSG a 1 4 4\r\nHTTP\r\n", "INFO no\r\n", "INFO {}\r\n",
        "HMSG a 1 17 17\r\nNATS/1.0\r\nABC\r\n\r\n\r\n",
    ])
    func malformedProtocolIsRefused(_ text: String) throws {
        var parser = MessageParser()
        parser.append(text.utf8)
        let error = #expect(throws: NATSError.self) { while try parser.next() != nil {} }
        if case .protocolViolation? = error {} else { Issue.record("\(String(describing: error))") }
    }

    @Test func aLineWithoutEndIsRefused() throws {
        var parser = MessageParser()
        parser.append([UInt8](repeating: UInt8(ascii: "A"), count: 1 << 20))
        #expect(try parser.next() == nil)
        parser.append([UInt8(ascii: "A")])
        #expect(throws: NATSError.protocolViolation("a line without end")) { try parser.next() }
    }

    @Test(arguments: [("2.12.0", true), ("2.12", true), ("3.0.1", true), ("2.9.10", false), ("", false), ("x", false)])
    func versionsAreCompared(_ version: String, _ isEnough: Bool) throws {
        var parser = MessageParser()
        parser.append("INFO {\"version\":\"\(version)\",\"max_payload\":1}\r\n".utf8)
        guard case .info(let info)? = try parser.next() else { throw NATSError.badAnswer }
        #expect(info.isAtLeast(2, 12) == isEnough)
    }
}
