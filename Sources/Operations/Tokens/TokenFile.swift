import Cipher
import Console
import Core
import Dispatch
import Foundation
import Glibc
import Logging
import RouterConfiguration
import Synchronization

/// The file of named API tokens, next to the store. Commands change it while a router reads it, and the router records
/// the last uses in it. Every change takes a lock.
package struct TokenFile: Sendable {
    /// Enough for 200 tokens.
    private static let maxBytes = 256 << 10

    package let path: String

    package init(_ configuration: Configuration) {
        path = configuration.storePath + "-tokens"
    }

    init(path: String) {
        self.path = path
    }

    /// A missing file means no tokens. Throws an ``OperationError``, like all methods here.
    func read() throws(OperationError) -> NamedTokens {
        guard FileManager.default.fileExists(atPath: path) else { return NamedTokens() }
        if let exposure = FileExposure(ofFile: path) {
            throw .unavailable("\(path): the file of tokens \(exposure); run: \(exposure.remedy(for: path))")
        }
        guard let handle = FileHandle(forReadingAtPath: path), let data = try? handle.read(upToCount: Self.maxBytes)
        else { throw .unavailable("\(path): this user cannot read the file of tokens") }
        guard let tokens = try? JSONDecoder().decode(NamedTokens.self, from: data) else {
            throw .unavailable(
                "\(path): expected the file of tokens that carillon tokens writes; remove it to start again"
            )
        }
        return tokens
    }

    /// Changes the tokens, and writes the file if `body` changed any.
    func change<Answer>(
        _ body: (inout NamedTokens) throws(OperationError) -> Answer
    ) throws(OperationError) -> Answer {
        let lock = open(path + "-lock", O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0o600)
        guard lock >= 0 else { throw failure(errno) }
        defer { close(lock) }
        guard flock(lock, LOCK_EX) == 0 else { throw failure(errno) }
        let before = try read()
        var tokens = before
        let answer = try body(&tokens)
        if tokens != before { try write(tokens) }
        return answer
    }

    private func write(_ tokens: NamedTokens) throws(OperationError) {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .prettyPrinted]
        guard let data = try? encoder.encode(tokens) else { throw failure(EINVAL) }
        let next = path + "-next"
        unlink(next)
        let number = NewSecretFile.create(next, Array(data) + [0x0A])
        guard number == 0 else { throw failure(number) }
        guard rename(next, path) == 0 else { throw failure(errno) }
    }

    private func failure(_ number: Int32) -> OperationError {
        .unavailable("cannot write \(path): \(String(cString: strerror(number)))")
    }
}

/// Token commands. They change the file whether or not a router runs. A running router picks up the change immediately.
package struct TokenOperations {
    private let file: TokenFile
    private let now: @Sendable () -> Timestamp

    package init(_ configuration: Configuration, now: @escaping @Sendable () -> Timestamp = Timestamp.now) {
        self.init(file: TokenFile(configuration), now: now)
    }

    init(file: TokenFile, now: @escaping @Sendable () -> Timestamp) {
        self.file = file
        self.now = now
    }

    /// Throws an ``OperationError``, like all methods below.
    package func list() throws(OperationError) -> TokenList { TokenList(try file.read(), now: now()) }

    package func create(
        _ name: String,
        _ scopes: Set<APIScope>,
        for span: Duration?
    ) throws(OperationError) -> CreatedToken {
        let now = now()
        return try file.change { tokens throws(OperationError) in
            let text = try tokens.create(name, scopes, for: span, now: now, random: SecureRandom.bytes)
            guard let made = tokens.tokens.last else { throw .unavailable("no token was made") }
            return CreatedToken(token: text, of: TokenList.Token(made, now: now))
        }
    }

    package func revoke(_ name: String) throws(OperationError) -> RevokedToken {
        let now = now()
        return try file.change { tokens throws(OperationError) in
            RevokedToken(revoked: TokenList.Token(try tokens.revoke(name), now: now))
        }
    }
}

/// The valid tokens of a running router's API: the token file's and the named ones. Named tokens are reloaded when
/// their file changes. Their uses are written to it.
package final class CurrentTokens: Sendable {
    private struct State {
        var stamp: FileStamp?
        var tokens = NamedTokens()
        var uses: [String: Int64] = [:]
        var isWriting = false
    }

    private static let everything = APIPrincipal.agent(SignInMeans.tokenFile, Set(APIScope.allCases))

    private let file: TokenFile
    private let token: @Sendable () -> APIToken?
    private let now: @Sendable () -> Timestamp
    private let logger: Logger
    private let queue = DispatchQueue(label: "carillon.token-uses")
    private let state = Mutex(State())

    /// `token` returns the token file's token, which has all rights. A reload may replace it.
    package init(
        _ file: TokenFile,
        token: @escaping @Sendable () -> APIToken? = { nil },
        now: @escaping @Sendable () -> Timestamp,
        logger: Logger
    ) {
        self.file = file
        self.token = token
        self.now = now
        self.logger = logger
    }

    func principal(of text: String) -> APIPrincipal? {
        token()?.opens(text) ?? false ? Self.everything : named(APIToken.digest(of: text))
    }

    /// Returns the owner of the token with this digest; `nil` if there is none.
    package func principal(ofDigest digest: String) -> APIPrincipal? {
        token()?.digest == digest ? Self.everything : named(digest)
    }

    private func named(_ digest: String) -> APIPrincipal? {
        // Checks the file's timestamps once, and only for tokens other than the token file's.
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
        do throws(OperationError) {
            state.tokens = try file.read()
        } catch {
            // After a read error no token is valid, because the old ones may be revoked.
            state.tokens = NamedTokens()
            logger.error("Failed to read the API's named tokens", metadata: ["reason": "\(error)"])
        }
        state.stamp = stamp
    }

    private func write() {
        let uses = state.withLock(\.uses)
        do throws(OperationError) {
            try file.change { tokens throws(OperationError) in _ = tokens.use(uses) }
        } catch {
            logger.warning(
                "Failed to save when API tokens were last used",
                metadata: ["reason": "\(error)"]
            )
        }
        // After an error, the next request does not try to write again.
        state.withLock { state in
            state.isWriting = false
            _ = state.tokens.use(uses)
        }
    }
}
