@testable import MQTTTransport

/// Bytes from an MQTT broker, in both versions.
enum MQTTJudge {
    static func judge(_ bytes: UnsafeRawBufferPointer) -> Bool {
        Pieces.judge(bytes) { choice, pieces in replies(choice & 1 == 0 ? .v3 : .v5, pieces) }
    }

    /// Nil: the bytes are malformed, which ends the connection.
    private static func replies(_ version: MQTTVersion, _ pieces: [[UInt8]]) -> [MQTTReply]? {
        var reader = MQTTReader(version)
        var replies: [MQTTReply] = []
        do throws(MQTTReader.Malformed) {
            for piece in pieces { replies += try reader.take(piece) }
        } catch {
            return nil
        }
        return replies
    }
}
