import Dispatch
import NIOConcurrencyHelpers
import NIOCore
import Testing

@testable import HTTPClient

struct ThreadedLookupTests {
    /// Name servers, some of which respond only on request.
    private final class Servers: Sendable {
        let release = DispatchSemaphore(value: 0)
        let asked = NIOLockedValueBox<[String]>([])

        func resolve(_ host: String, _ port: Int) -> [SocketAddress] {
            asked.withLockedValue { $0.append(host) }
            if host.hasPrefix("slow") {
                release.wait()
                release.signal()
            }
            return (try? SocketAddress(ipAddress: "192.0.2.1", port: port)).map { [$0] } ?? []
        }
    }

    private func find(_ host: String, with lookup: ThreadedLookup) async -> [SocketAddress] {
        await withCheckedContinuation { continuation in
            lookup.lookUp(host, 443, { true }, { continuation.resume(returning: $0) })
        }
    }

    @Test func unresolvableNamesDoNotDelayOthers() async {
        let servers = Servers()
        let lookup = ThreadedLookup(resolve: servers.resolve)
        await withTaskGroup(of: Int.self) { group in
            for number in 0..<200 {
                group.addTask { await find("slow-\(number).example", with: lookup).count }
            }
            #expect(await find("push.example", with: lookup).map(\.port) == [443])
            servers.release.signal()
            #expect(await group.reduce(0, +) == 200)
        }
    }

    @Test func theSameNameIsLookedUpOnceAtATime() async {
        let servers = Servers()
        let lookup = ThreadedLookup(resolve: servers.resolve)
        await withTaskGroup(of: Int.self) { group in
            for _ in 0..<50 { group.addTask { await find("slow.example", with: lookup).count } }
            _ = await find("other.example", with: lookup)
            servers.release.signal()
            #expect(await group.reduce(0, +) == 50)
        }
        // A request that came after the first had its response is a separate lookup.
        #expect(servers.asked.withLockedValue { $0.filter { $0 == "slow.example" }.count } < 50)
        let before = servers.asked.withLockedValue { $0.count }
        _ = await find("slow.example", with: lookup)
        #expect(servers.asked.withLockedValue { $0.count } == before + 1)
    }

    /// More names hang than the limit of parallel lookups without a pause.
    @Test func anotherNameIsLookedUpSoonWhileHundredsHang() async {
        let servers = Servers()
        let lookup = ThreadedLookup(resolve: servers.resolve)
        await withTaskGroup(of: Int.self) { group in
            for number in 0..<400 {
                group.addTask { await find("slow-\(number).example", with: lookup).count }
            }
            while servers.asked.withLockedValue({ $0.count }) < 256 { await Task.yield() }
            #expect(await find("push.example", with: lookup).count == 1)
            #expect(servers.asked.withLockedValue { $0.count } < 300)
            servers.release.signal()
            #expect(await group.reduce(0, +) == 400)
        }
    }
}
