/// What proves to Apple who sends, for as long as it holds.
///
/// A class, so that a push that is on its way holds it by one reference.
final class Proof: Sendable {
    /// `bearer …`: the value of `authorization`; nil where the connection presents a certificate.
    let authorization: String?
    /// Which connections may carry it: those of one team, key and app (Apple, "Establishing a token-based connection to
    /// APNs").
    let connection: String
    /// Counts the provider tokens: tells an answer to an old one from an answer to this one.
    let generation: Int

    init(authorization: String?, connection: String, generation: Int) {
        self.authorization = authorization
        self.connection = connection
        self.generation = generation
    }
}
