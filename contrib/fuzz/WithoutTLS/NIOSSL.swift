// The names of swift-nio-ssl that a request's type mentions. No fuzz target connects anywhere, and the library takes
// longer to build than all of them.

public struct NoTLS: Error {}

public final class NIOSSLContext: Sendable {
    public init(configuration: TLSConfiguration) throws { throw NoTLS() }
}

public final class NIOSSLCertificate: Sendable {
    public static func fromPEMBytes(_ bytes: [UInt8]) throws -> [NIOSSLCertificate] { throw NoTLS() }
    public static func fromPEMFile(_ name: String) throws -> [NIOSSLCertificate] { throw NoTLS() }
}

public enum NIOSSLCertificateSource: Sendable {
    case certificate(NIOSSLCertificate)
}

public final class NIOSSLPrivateKey: Sendable {
    public enum Format: Sendable { case pem }

    public init(bytes: [UInt8], format: Format) throws { throw NoTLS() }
}

public enum NIOSSLPrivateKeySource: Sendable {
    case privateKey(NIOSSLPrivateKey)
}

public enum NIOSSLTrustRoots: Sendable {
    case certificates([NIOSSLCertificate])
}

public struct TLSConfiguration: Sendable {
    public var trustRoots: NIOSSLTrustRoots?
    public var certificateChain: [NIOSSLCertificateSource] = []
    public var privateKey: NIOSSLPrivateKeySource?

    public static func makeClientConfiguration() -> TLSConfiguration { TLSConfiguration() }
}
