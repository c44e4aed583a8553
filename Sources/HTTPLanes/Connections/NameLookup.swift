import Glibc
import NIOConcurrencyHelpers
import NIOCore
import NIOPosix

/// Turns names into addresses.
package protocol NameLookup: Sendable {
    /// Looks `host` up and calls `completion` once, on any thread: with no addresses when none were found, or when
    /// `isWanted` returns false before it begins.
    func lookUp(
        _ host: String,
        port: Int,
        isWanted: @escaping @Sendable () -> Bool,
        completion: @escaping @Sendable ([SocketAddress]) -> Void
    )
}

/// Looks names up for connections. Users may choose names whose servers never answer, so theirs are separate from the
/// operator's.
package struct NameLookups: Sendable {
    package var operators: any NameLookup
    package var users: any NameLookup

    package init() { self.init(users: ThreadedLookup(limit: 256)) }

    init(operators: any NameLookup = ThreadedLookup(limit: 256), users: any NameLookup) {
        self.operators = operators
        self.users = users
    }
}

/// Looks names up on the threads of a pool, as many at a time as it has threads.
struct PooledLookup: NameLookup {
    let threads: NIOThreadPool

    func lookUp(
        _ host: String,
        port: Int,
        isWanted: @escaping @Sendable () -> Bool,
        completion: @escaping @Sendable ([SocketAddress]) -> Void
    ) {
        threads.submit { state in
            // Pools that are shut down do not look up.
            completion(state == .active && isWanted() ? SystemNames.lookUp(host, port: port) : [])
        }
    }
}

/// Looks each name up on a thread of its own, so that a name whose servers never answer delays no other. The same name
/// is looked up once at a time: callers that want it meanwhile get the same answer.
final class ThreadedLookup: NameLookup {
    typealias Completion = @Sendable ([SocketAddress]) -> Void

    private struct Name: Hashable {
        var host: String
        var port: Int
    }

    private let waiting = NIOLockedValueBox<[Name: [Completion]]>([:])
    private let limit: Int
    private let resolve: @Sendable (_ host: String, _ port: Int) -> [SocketAddress]

    /// - Parameters:
    ///   - limit: The most names looked up at a time; further ones are not found.
    ///   - resolve: May block.
    init(
        limit: Int,
        resolve: @escaping @Sendable (_ host: String, _ port: Int) -> [SocketAddress] = SystemNames.lookUp
    ) {
        self.limit = limit
        self.resolve = resolve
    }

    func lookUp(
        _ host: String,
        port: Int,
        isWanted: @escaping @Sendable () -> Bool,
        completion: @escaping Completion
    ) {
        let name = Name(host: host, port: port)
        enum Course { case begin, join, refuse }
        let course: Course = waiting.withLockedValue { waiting in
            guard waiting[name] == nil else {
                waiting[name]?.append(completion)
                return .join
            }
            guard waiting.count < limit else { return .refuse }
            waiting[name] = [completion]
            return .begin
        }
        switch course {
        case .join: break
        case .refuse: completion([])
        case .begin:
            if !DetachedThread.run({ self.answer(name, self.resolve(host, port)) }) { answer(name, []) }
        }
    }

    private func answer(_ name: Name, _ addresses: [SocketAddress]) {
        let completions = waiting.withLockedValue { $0.removeValue(forKey: name) ?? [] }
        for completion in completions { completion(addresses) }
    }
}

/// The system's resolver.
enum SystemNames {
    /// Every address of `host` once. Blocks for as long as name servers take.
    static func lookUp(_ host: String, port: Int) -> [SocketAddress] {
        var hints = addrinfo()
        hints.ai_family = AF_UNSPEC
        hints.ai_flags = AI_NUMERICSERV
        var list: UnsafeMutablePointer<addrinfo>?
        guard getaddrinfo(host, String(port), &hints, &list) == 0 else { return [] }
        defer { freeaddrinfo(list) }
        // Every address comes once for each kind of socket.
        var seen: Set<IPAddress> = []
        return sequence(first: list, next: { $0?.pointee.ai_next }).compactMap { entry in
            guard let entry, let address = entry.pointee.ai_addr,
                let ip = IPAddress(address, length: Int(entry.pointee.ai_addrlen)), seen.insert(ip).inserted
            else { return nil }
            let bytes = UnsafeRawPointer(address)
            return switch ip {
            case .v4: SocketAddress(bytes.loadUnaligned(as: sockaddr_in.self), host: host)
            case .v6: SocketAddress(bytes.loadUnaligned(as: sockaddr_in6.self), host: host)
            }
        }
    }
}
