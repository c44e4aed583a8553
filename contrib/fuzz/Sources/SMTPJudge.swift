@testable import EmailTransport

/// Replies of a mail server.
enum SMTPJudge {
    static func judge(_ bytes: UnsafeRawBufferPointer) -> Bool {
        Pieces.judge(bytes) { _, pieces in replies(pieces) }
    }

    private struct Replies: Equatable {
        var all: [SMTPReply] = []
        var extensions: [SMTPExtensions] = []
        var isMalformed = false
    }

    /// In one piece, a malformed line discards the whole replies before it. The connection ends either way, so neither
    /// counts.
    private static func replies(_ pieces: [[UInt8]]) -> Replies {
        var parser = SMTPReplyParser()
        var replies = Replies()
        do throws(SMTPReplyParser.Malformed) {
            for piece in pieces {
                for reply in try parser.take(piece) {
                    promise((200..<600).contains(reply.code) && !reply.lines.isEmpty, "a reply has a code and a line")
                    if let status = reply.status { promise([2, 4, 5].contains(status.kind), "a status has a kind") }
                    replies.all.append(reply)
                    replies.extensions.append(SMTPExtensions(reply))
                }
            }
        } catch {
            return Replies(isMalformed: true)
        }
        return replies
    }
}
