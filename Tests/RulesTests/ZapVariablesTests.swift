import Nostr
import Testing

@testable import Rules

@Suite struct ZapVariablesTests {
    @Test(
        arguments: [
            (0, "0"), (1, "0.001"), (500, "0.5"), (999, "0.999"), (1000, "1"), (21_000, "21"), (21_050, "21.05"),
            (100_000_000_000, "100000000"), (UInt64.max, "18446744073709551.615"),
        ] as [(UInt64, String)]
    )
    func amountIsInSatoshis(_ millisats: UInt64, _ text: String) throws {
        var input = Fixture.input(kind: 9735)
        input.zap = Fixture.zap(millisats: millisats)
        #expect(try Template("{{zap.amount}}").render(TemplateValues(input)) == text)
    }

    @Test func sectionsAskForAZapACommentAndAnAnonymousSender() throws {
        let template = try Template(
            "{{#zap}}zap{{#zap.comment}} said {{zap.comment}}{{/zap.comment}}{{#zap.anonymous}} by nobody{{/zap.anonymous}}{{/zap}}{{^zap}}none{{/zap}}"
        )
        var input = Fixture.input(kind: 9735)
        #expect(template.render(TemplateValues(input)) == "none")
        input.zap = Fixture.zap(millisats: 1)
        #expect(template.render(TemplateValues(input)) == "zap")
        input.zap = Fixture.zap(millisats: 1, comment: "hi", isAnonymous: true)
        #expect(template.render(TemplateValues(input)) == "zap said hi by nobody")
    }

    @Test func authorIsTheSenderAndTheEventsPubkeyTheWallet() throws {
        var input = Fixture.input(kind: 9735)
        input.author = Fixture.sender
        let template = try Template("{{author.pubkey}} {{event.pubkey}}")
        #expect(template.render(TemplateValues(input)) == "\(Fixture.sender.hex) \(Fixture.author.hex)")
    }
}
