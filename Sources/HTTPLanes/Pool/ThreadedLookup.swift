import NIOConcurrencyHelpers
import NIOCore

/// Names looked up each on a thread of its own, so that a name whose servers never answer keeps no other waiting. The same
/// name is looked up once at a time: who wants it meanwhile gets the same answer.
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
    ///   - limit: Names looked up at a time; further ones are not found.
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
