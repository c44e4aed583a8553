/// What a push certificate allows its holder.
struct ProviderCertificate: Sendable, Equatable {
    /// Of the extension 1.2.840.113635.100.6.3.6, and the UID of the subject.
    var topics: Set<String>
    var environments: Set<APNsEnvironment>
    /// Nil for a good one; else what is wrong with it.
    var flaw: String?

    /// What a request without `apns-topic` is for.
    var onlyTopic: String? { topics.count == 1 ? topics.first : nil }

    func check(in environment: APNsEnvironment) throws(APNsRefusal) {
        if let flaw { throw APNsRefusal(.badCertificate, flaw) }
        guard environments.contains(environment) else {
            throw APNsRefusal(.badCertificateEnvironment, "the certificate is not for \(environment.rawValue)")
        }
    }
}
