import Cipher
import Glibc
import Testing

@Suite struct FileExposureTests {
    private func exposure(_ mode: mode_t, owner: uid_t, user: uid_t) -> FileExposure? {
        var status = stat()
        status.st_mode = S_IFREG | mode
        status.st_uid = owner
        return FileExposure(status, user: user)
    }

    @Test(
        arguments: [
            (0o600, 1_000, nil), (0o400, 1_000, nil), (0o640, 1_000, .readable), (0o604, 1_000, .readable),
            (0o620, 1_000, .writable), (0o602, 1_000, .writable), (0o666, 1_000, .writable),
            // The mode that systemd gives to credentials.
            (0o440, 0, nil), (0o400, 0, nil), (0o640, 0, nil), (0o444, 0, .readable), (0o644, 0, .readable),
            (0o660, 0, .writable), (0o602, 0, .writable),
            (0o600, 1_001, .foreign(owner: 1_001)), (0o400, 1_001, .foreign(owner: 1_001)),
        ] as [(mode_t, uid_t, FileExposure?)]
    )
    func secretMayBelongToUsOrRoot(mode: mode_t, owner: uid_t, expected: FileExposure?) {
        #expect(exposure(mode, owner: owner, user: 1_000) == expected)
    }

    /// Root needs no group to read its own files.
    @Test func rootsSecretMustBePrivateToRoot() {
        #expect(exposure(0o600, owner: 0, user: 0) == nil)
        #expect(exposure(0o640, owner: 0, user: 0) == .readable)
    }

    /// Commands that root runs on a service's files neither reject them nor take them away from the service.
    @Test(
        arguments: [(0o600, nil), (0o400, nil), (0o640, .readable), (0o604, .readable), (0o620, .writable)]
            as [(mode_t, FileExposure?)]
    )
    func rootChecksTheModeOfOthersSecrets(mode: mode_t, expected: FileExposure?) {
        #expect(exposure(mode, owner: 61_234, user: 0) == expected)
        #expect(
            exposure(mode, owner: 61_234, user: 0)?.remedy(for: "key", user: 0) == expected.map { _ in "chmod 600 key" }
        )
    }

    @Test func ownershipFixNeedsOnlyStandardCommands() {
        let remedy = FileExposure.foreign(owner: 1_001).remedy(for: "key", user: 1_000)
        #expect(remedy == "chown 1000 key && chmod 600 key")
    }
}
