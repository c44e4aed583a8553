import Core
import Glibc
import PluginProtocol
import Testing
import TimeTestSupport

@testable import PluginHost

/// A socket of frames with a slow peer.
struct FrameSocketTests {
    private static func frame(_ size: Int) -> [UInt8] {
        var writer = FrameWriter()
        writer.frame(.response, id: 1) { $0.text([UInt8](repeating: 7, count: size)) }
        return writer.take()
    }

    /// Reads all available bytes; returns their number.
    private static func drain(_ descriptor: Int32) -> Int {
        var room = [UInt8](repeating: 0, count: 1 << 16)
        var total = 0
        while true {
            let count = recv(descriptor, &room, room.count, Int32(MSG_DONTWAIT))
            guard count > 0 else { return total }
            total += count
        }
    }

    /// All bytes are sent when the other side makes room, without a tick. Its answers must be read.
    @Test func answersAreReadAfterTheOtherSideHasMadeRoom() throws {
        let pair = try #require(ChildProcess.socketPair())
        defer { close(pair.theirs) }
        let socket = FrameSocket(pair.ours, taking: FrameKind.results, lingers: true, limit: .mebibytes(8))
        let (large, small) = (Self.frame(1 << 20), Self.frame(10))
        #expect(socket.send(large, now: 10) == .sent)
        #expect(socket.interest().events & Int16(POLLOUT) != 0, "it is not full")
        for _ in 0..<40 { #expect(socket.send(small, now: 10) == .sent) }
        var taken = 0
        while taken < large.count + 40 * small.count {
            taken += Self.drain(pair.theirs)
            socket.flushIfDue(now: 10, isWritable: true)
        }
        for now in 11...14 { socket.flushIfDue(now: Deadline(milliseconds: Int64(now)), isWritable: false) }
        let (events, milliseconds) = socket.interest()
        #expect(events & Int16(POLLIN) != 0 || milliseconds != nil, "nobody would read answers")
    }
}
