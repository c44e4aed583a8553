import Console
import Dispatch
import Logging
import Synchronization
import Units

/// The named tokens as a running router knows them: read again when their file changes, and their uses written to it.
package final class CurrentTokens: Sendable {
    private struct State {
        var stamp: FileStamp?
        var tokens = NamedTokens()
        var uses: [String: Int64] = [:]
        var isWriting = false
    }

    private let file: TokenFile
    private let now: @Sendable () -> Timestamp
    private let logger: Logger
    private let queue = DispatchQueue(label: "carillon.token-uses")
    private let state = Mutex(State())

    package init(_ file: TokenFile, now: @escaping @Sendable () -> Timestamp, logger: Logger) {
        self.file = file
        self.now = now
        self.logger = logger
    }

    func principal(of text: String) -> APIPrincipal? { principal(ofDigest: APIToken.digest(of: text)) }

    /// Whose token has this digest; nil where there is none.
    func principal(ofDigest digest: String) -> APIPrincipal? {
        // One look at the file's times, and only for what is not the token of the token file.
        let stamp = FileStamp.of(file.path)
        let now = now()
        let (token, isWorthWriting) = state.withLock { state -> (NamedToken?, Bool) in
            if state.stamp != stamp { read(stamp, &state) }
            guard let token = state.tokens.token(ofDigest: digest, now: now) else { return (nil, false) }
            guard state.uses.updateValue(now.seconds, forKey: token.name) != now.seconds else { return (token, false) }
            var tokens = state.tokens
            guard !state.isWriting, tokens.use(state.uses) else { return (token, false) }
            state.isWriting = true
            return (token, true)
        }
        if isWorthWriting { queue.async { self.write() } }
        return token.map { .agent($0.name, Set($0.scopes)) }
    }

    private func read(_ stamp: FileStamp?, _ state: inout State) {
        do throws(OperationFailure) {
            state.tokens = try file.read()
        } catch {
            // Rather none than ones that were revoked.
            state.tokens = NamedTokens()
            logger.error("The API's named tokens cannot be read", metadata: ["reason": "\(error)"])
        }
        state.stamp = stamp
    }

    private func write() {
        let uses = state.withLock(\.uses)
        do throws(OperationFailure) {
            try file.change { tokens throws(OperationFailure) in _ = tokens.use(uses) }
        } catch {
            logger.warning(
                "When the API's tokens were used last cannot be written down",
                metadata: ["reason": "\(error)"]
            )
        }
        // What cannot be written is not tried again with each request.
        state.withLock { state in
            state.isWriting = false
            _ = state.tokens.use(uses)
        }
    }
}
