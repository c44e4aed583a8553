@testable import Cluster

/// Bytes from a NATS server.
enum NATSJudge {
    static func judge(_ bytes: UnsafeRawBufferPointer) -> Bool {
        Pieces.judge(bytes) { _, pieces in messages(pieces) }
    }

    private static func messages(_ pieces: [[UInt8]]) -> [String] {
        var parser = MessageParser()
        var messages: [String] = []
        do throws(NATSError) {
            for piece in pieces {
                parser.append(piece)
                while let message = try parser.next() { messages.append(text(of: message)) }
            }
        } catch {
            messages.append("\(error)")
        }
        return messages
    }

    private static func text(of message: ServerMessage) -> String {
        switch message {
        case .info(let info): "info \(info.version) \(info.maxPayload) \(info.isAtLeast(2, 10))"
        case .message(let message, let subscription):
            "message \(subscription) \(message.subject) \(message.replyTo ?? "") \(message.headers.status ?? 0) "
                + "\(message.headers["Nats-Sequence"] ?? "") \(message.payload)"
        case .ping: "ping"
        case .pong: "pong"
        case .ok: "ok"
        case .error(let text): "error \(text)"
        }
    }
}
