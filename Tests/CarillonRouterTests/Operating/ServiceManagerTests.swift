import Core
import Foundation
import Glibc
import Testing

@testable import CarillonRouter

/// The messages that systemd gets at a datagram socket of the test (sd_notify(3)).
@Suite final class ServiceManagerTests {
    private let folder: URL
    private let path: String

    init() throws {
        folder = FileManager.default.temporaryDirectory.appendingPathComponent("notify-\(UUID().uuidString.prefix(8))")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        path = folder.appendingPathComponent("s").path
    }

    deinit {
        try? FileManager.default.removeItem(at: folder)
    }

    private struct Inbox: ~Copyable {
        let descriptor: Int32

        init(_ name: [UInt8]) throws {
            descriptor = socket(AF_UNIX, Int32(SOCK_DGRAM.rawValue), 0)
            var address = sockaddr_un()
            address.sun_family = sa_family_t(AF_UNIX)
            withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: name) }
            let length = socklen_t(2 + name.count)
            let bound = withUnsafePointer(to: &address) { pointer in
                pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { bind(descriptor, $0, length) }
            }
            try #require(bound == 0)
        }

        deinit { close(descriptor) }

        /// Returns the next datagram. Local datagrams arrive as soon as they are sent.
        func next() -> String {
            var bytes = [UInt8](repeating: 0, count: 4_096)
            let count = recv(descriptor, &bytes, bytes.count, Int32(MSG_DONTWAIT))
            return String(decoding: bytes.prefix(max(0, count)), as: UTF8.self)
        }
    }

    private func manager(at socket: String?) -> ServiceManager? {
        ServiceManager(environment: { $0 == "NOTIFY_SOCKET" ? socket : nil })
    }

    @Test func stateIsSentToTheServiceManager() throws {
        let inbox = try Inbox(Array(path.utf8))
        let manager = try #require(self.manager(at: path))
        manager.ready("Serving\nREADY=0")
        #expect(inbox.next() == "READY=1\nSTATUS=Serving READY=0")
        manager.reloading(monotonicMicroseconds: 42)
        #expect(inbox.next().hasPrefix("RELOADING=1\nMONOTONIC_USEC=42\n"))
        manager.alive()
        #expect(inbox.next() == "WATCHDOG=1")
        manager.stopping()
        #expect(inbox.next() == "STOPPING=1\nSTATUS=Stopping")
    }

    @Test func findsAbstractSockets() throws {
        let name = "carillon-test-\(UUID().uuidString)"
        let inbox = try Inbox([0] + Array(name.utf8))
        try #require(manager(at: "@\(name)")).alive()
        #expect(inbox.next() == "WATCHDOG=1")
    }

    @Test func missingManagerIsIgnored() throws {
        try #require(manager(at: path)).ready("Serving")
    }

    @Test(arguments: [nil, "", "@", "relative", "vsock:2:1", "/" + String(repeating: "x", count: 107)])
    func missingSocketGivesNoManager(_ socket: String?) {
        #expect(manager(at: socket) == nil)
    }

    @Test(
        arguments: [
            (["WATCHDOG_USEC": "30000000"], .seconds(30)),
            (["WATCHDOG_USEC": "30000000", "WATCHDOG_PID": "7"], .seconds(30)),
            (["WATCHDOG_USEC": "30000000", "WATCHDOG_PID": "8"], nil), ([:], nil), (["WATCHDOG_USEC": "0"], nil),
            (["WATCHDOG_USEC": "many"], nil),
        ] as [([String: String], Duration?)]
    )
    func watchdogIntervalComesFromTheEnvironment(_ variables: [String: String], _ interval: Duration?) throws {
        let manager = ServiceManager(environment: { $0 == "NOTIFY_SOCKET" ? "/run/notify" : variables[$0] }, process: 7)
        #expect(try #require(manager).watchdog == interval)
    }
}
