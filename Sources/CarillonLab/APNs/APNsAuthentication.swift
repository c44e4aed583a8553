/// How the requests of one connection prove whose they are: by the certificate that the client showed, or else by a provider
/// token in each.
struct APNsAuthentication {
    let environment: APNsEnvironment
    private var providerTokens = ProviderTokenCheck()

    init(_ environment: APNsEnvironment) {
        self.environment = environment
    }

    /// `now` in milliseconds since 1970.
    mutating func check(
        _ request: HTTP2Request,
        _ certificate: ProviderCertificate?,
        keys: [ProviderKey],
        now: Int64
    ) throws(APNsRefusal) -> APNsSender {
        if let certificate {
            try certificate.check(in: environment)
            return .certificate(certificate)
        }
        let authorization = request.header("authorization")
        return .key(try providerTokens.check(authorization, keys: keys, in: environment, now: now))
    }
}
