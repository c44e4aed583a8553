import Core
import Testing

@testable import Cipher

struct WebhookSecretsTests {
    private static let secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"

    /// The example of the specification's reference implementations.
    @Test func specificationsExampleIsReproduced() throws {
        let signature = try WebhookSecrets([Self.secret]).signatures(
            id: "msg_p5jXN8AQM9LWM0D4loKWxJek",
            sentAt: Timestamp(seconds: 1_614_265_330),
            body: Array(#"{"test": 2432232314}"#.utf8)
        )
        #expect(signature == "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=")
    }

    @Test func eachSecretSigns() throws {
        let both = try WebhookSecrets([Self.secret, "whsec_" + String(repeating: "A", count: 32)])
        let signatures = both.signatures(id: "a", sentAt: .epoch, body: []).split(separator: " ")
        #expect(signatures.count == 2 && Set(signatures).count == 2)
    }

    @Test(arguments: ["", "MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", "whsec_", "whsec_AAAA", "whsec_%%%%"])
    func invalidSecretIsRefusedWithoutBeingQuoted(_ text: String) {
        #expect {
            try WebhookSecrets([text])
        } throws: { error in
            text.isEmpty || !"\(error)".contains(text) || text == "whsec_"
        }
    }

    @Test func secretsAreLimited() {
        #expect(throws: WebhookSecrets.FormatError.self) {
            try WebhookSecrets(Array(repeating: Self.secret, count: 9))
        }
    }
}
