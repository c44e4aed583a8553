import GRDB

/// The tables, as migrations in the order in which they run. A published migration never changes; a new one is added.
enum RegistrySchema {
    static var migrator: DatabaseMigrator {
        var migrator = DatabaseMigrator()
        migrator.registerMigration("1 devices, tombstones, events, follows") { try $0.execute(sql: devices) }
        migrator.registerMigration("2 identities, lists, partners") { try $0.execute(sql: identities) }
        migrator.registerMigration("3 watched keys") { try $0.execute(sql: watch) }
        migrator.registerMigration("4 remote sessions") { try $0.execute(sql: remoteSessions) }
        migrator.registerMigration("5 first registrations") { try $0.execute(sql: beginnings) }
        migrator.registerMigration("6 owners of message keys") { try $0.execute(sql: messageKeyOwners) }
        migrator.registerMigration("7 languages, sealing keys") { try $0.execute(sql: languages) }
        migrator.registerMigration("8 devices of the sealed ingress") { try $0.execute(sql: ingressDevices) }
        migrator.registerMigration("9 whom accounts follow") { try $0.execute(sql: followed) }
        migrator.registerMigration("10 gone devices of the sealed ingress") { try $0.execute(sql: goneIngressDevices) }
        migrator.registerMigration("11 wishes of devices, lists of recipients") { db in
            try db.execute(sql: wishes)
            try db.execute(sql: recipientLists)
        }
        migrator.registerMigration("12 unproven and reached devices, grace, chosen targets") { db in
            try db.execute(sql: unprovenDevices)
            try db.execute(sql: deviceGrace)
            try db.execute(sql: chosenTargets)
            try db.execute(sql: reached)
        }
        migrator.registerMigration("13 states of plugins") { try $0.execute(sql: pluginStates) }
        migrator.registerMigration("14 rules of access") { try $0.execute(sql: accessRules) }
        migrator.registerMigration("15 keys of the router") { try $0.execute(sql: routerKeys) }
        migrator.registerMigration("16 devices that are switched off, groups") { db in
            try db.execute(sql: disabledDevices)
            try db.execute(sql: groups)
        }
        migrator.registerMigration("17 keys that were read at relays") { try $0.execute(sql: readKeys) }
        return migrator
    }

    /// Secrets are apart from `devices`, which is read as a whole at every start.
    private static let devices = """
        CREATE TABLE meta (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;

        CREATE TABLE routes (
            id INTEGER PRIMARY KEY,
            platform TEXT NOT NULL,
            app TEXT NOT NULL,
            UNIQUE (platform, app)
        );

        CREATE TABLE devices (
            id INTEGER PRIMARY KEY AUTOINCREMENT,
            account BLOB NOT NULL,
            device_id TEXT NOT NULL,
            created_at INTEGER NOT NULL,
            event_id BLOB NOT NULL,
            registered_at INTEGER NOT NULL,
            route INTEGER NOT NULL REFERENCES routes (id),
            mode INTEGER,
            signals INTEGER NOT NULL,
            further_signals TEXT,
            UNIQUE (account, device_id)
        );
        CREATE INDEX devices_further_signals ON devices (id) WHERE further_signals IS NOT NULL;

        CREATE TABLE secrets (
            device INTEGER PRIMARY KEY REFERENCES devices (id) ON DELETE CASCADE,
            handle BLOB NOT NULL,
            address BLOB NOT NULL,
            content BLOB NOT NULL
        );
        CREATE INDEX secrets_handle ON secrets (handle);

        CREATE TABLE tombstones (
            account BLOB NOT NULL,
            device_id TEXT NOT NULL,
            created_at INTEGER NOT NULL,
            event_id BLOB NOT NULL,
            PRIMARY KEY (account, device_id)
        ) WITHOUT ROWID;
        CREATE TABLE floors (account BLOB PRIMARY KEY, created_at INTEGER NOT NULL) WITHOUT ROWID;

        CREATE TABLE own_events (
            account BLOB NOT NULL,
            slot TEXT NOT NULL,
            json TEXT NOT NULL,
            PRIMARY KEY (account, slot)
        );

        CREATE TABLE contact_lists (author BLOB PRIMARY KEY, created_at INTEGER NOT NULL) WITHOUT ROWID;
        CREATE TABLE follows (
            author BLOB NOT NULL,
            account BLOB NOT NULL,
            PRIMARY KEY (author, account)
        ) WITHOUT ROWID;
        """

    /// Devices that speak for a root identity. The column `account` becomes `author`, who signed; the account is the
    /// root identity if there is one.
    private static let identities = """
        ALTER TABLE devices RENAME COLUMN account TO author;
        ALTER TABLE devices ADD COLUMN root BLOB;
        ALTER TABLE devices ADD COLUMN account BLOB GENERATED ALWAYS AS (coalesce(root, author)) VIRTUAL;
        CREATE INDEX devices_account ON devices (account);
        ALTER TABLE tombstones RENAME COLUMN account TO author;
        ALTER TABLE floors RENAME COLUMN account TO author;
        ALTER TABLE own_events RENAME COLUMN account TO author;

        CREATE TABLE waiting (
            number INTEGER PRIMARY KEY AUTOINCREMENT,
            author BLOB NOT NULL,
            device_id TEXT NOT NULL,
            root BLOB NOT NULL,
            created_at INTEGER NOT NULL,
            event_id BLOB NOT NULL,
            arrived_at INTEGER NOT NULL,
            json TEXT NOT NULL,
            UNIQUE (author, device_id)
        );
        CREATE INDEX waiting_root ON waiting (root);

        CREATE TABLE lists (
            author BLOB NOT NULL,
            kind INTEGER NOT NULL,
            created_at INTEGER NOT NULL,
            event_id BLOB NOT NULL,
            learned_at INTEGER NOT NULL,
            relays TEXT NOT NULL,
            PRIMARY KEY (author, kind)
        ) WITHOUT ROWID;
        CREATE TABLE listed_devices (
            root BLOB NOT NULL,
            device BLOB NOT NULL,
            PRIMARY KEY (root, device)
        ) WITHOUT ROWID;
        CREATE TABLE message_keys (
            account BLOB NOT NULL,
            key BLOB NOT NULL,
            until INTEGER,
            PRIMARY KEY (account, key)
        ) WITHOUT ROWID;

        CREATE TABLE wished_relays (
            device INTEGER PRIMARY KEY REFERENCES devices (id) ON DELETE CASCADE,
            relays TEXT NOT NULL
        );
        CREATE TABLE partners (
            device INTEGER NOT NULL REFERENCES devices (id) ON DELETE CASCADE,
            partner BLOB NOT NULL,
            PRIMARY KEY (device, partner)
        ) WITHOUT ROWID;
        CREATE INDEX partners_partner ON partners (partner);

        ALTER TABLE contact_lists ADD COLUMN seen_at INTEGER NOT NULL DEFAULT 0;
        CREATE TABLE follows_read (account BLOB PRIMARY KEY) WITHOUT ROWID;
        """

    /// A `key` of no bytes is the owner's own, as it mostly is. The rows of an owner are beside each other, so that all
    /// owners' can be compared in one go with what should be; the index finds who else has a key watched.
    private static let watch = """
        CREATE TABLE watch_relays (id INTEGER PRIMARY KEY, url TEXT NOT NULL UNIQUE, mark INTEGER);

        CREATE TABLE watch (
            owner BLOB NOT NULL,
            key BLOB NOT NULL,
            relay INTEGER NOT NULL,
            interest INTEGER NOT NULL,
            since INTEGER NOT NULL,
            established INTEGER NOT NULL,
            PRIMARY KEY (owner, key, relay)
        ) WITHOUT ROWID;
        CREATE INDEX watch_others ON watch (key, relay, interest) WHERE key <> x'';
        """

    /// Sessions of NIP-46, and which client opened one with which secret. Of a secret there is a keyed digest; it stays
    /// when the session ends, because no other client may ever use it.
    private static let remoteSessions = """
        CREATE TABLE remote_sessions (
            client BLOB PRIMARY KEY,
            opened_at INTEGER NOT NULL,
            used_at INTEGER NOT NULL
        ) WITHOUT ROWID;

        CREATE TABLE used_secrets (
            digest BLOB PRIMARY KEY,
            client BLOB NOT NULL,
            used_at INTEGER NOT NULL
        ) WITHOUT ROWID;
        """

    /// When a device came into its slot, which registering anew leaves as it is: clients do that whenever they are
    /// opened.
    private static let beginnings = """
        ALTER TABLE devices ADD COLUMN first_registered_at INTEGER NOT NULL DEFAULT 0;
        UPDATE devices SET first_registered_at = registered_at;
        """

    /// Finds the owners of a key for messages.
    private static let messageKeyOwners = "CREATE INDEX message_keys_key ON message_keys (key);"

    /// What the index has to know of every device. The sealing key itself is among the secrets.
    private static let languages = """
        ALTER TABLE devices ADD COLUMN locale TEXT;
        ALTER TABLE devices ADD COLUMN has_sealing_key INTEGER NOT NULL DEFAULT 0;
        """

    /// Devices that the sealed ingress met. The address is there while the device counts as alive. Counting a million
    /// rows takes longer than adding one, so triggers count.
    private static let ingressDevices = """
        CREATE TABLE ingress_devices (
            id INTEGER PRIMARY KEY AUTOINCREMENT,
            handle BLOB NOT NULL UNIQUE,
            address BLOB,
            used_at INTEGER NOT NULL,
            gone_at INTEGER
        );
        CREATE INDEX ingress_devices_used_at ON ingress_devices (used_at);

        CREATE TABLE ingress_device_count (count INTEGER NOT NULL);
        INSERT INTO ingress_device_count VALUES (0);
        CREATE TRIGGER ingress_devices_more AFTER INSERT ON ingress_devices
            BEGIN UPDATE ingress_device_count SET count = count + 1; END;
        CREATE TRIGGER ingress_devices_fewer AFTER DELETE ON ingress_devices
            BEGIN UPDATE ingress_device_count SET count = count - 1; END;
        """

    /// To find those that can be forgotten where strangers made up so many tokens that there is no room.
    private static let goneIngressDevices = """
        CREATE INDEX ingress_devices_gone_at ON ingress_devices (gone_at) WHERE gone_at IS NOT NULL;
        """

    /// The keys that an account follows. No table without row ids: a list may fill many pages.
    private static let followed = """
        CREATE TABLE followed (
            account BLOB PRIMARY KEY NOT NULL,
            created_at INTEGER NOT NULL,
            event_id BLOB NOT NULL,
            hashes BLOB NOT NULL
        );
        """

    /// The pace and filters that a device prefers, sealed: quiet hours tell when somebody sleeps. Most devices have
    /// none.
    private static let wishes = "ALTER TABLE devices ADD COLUMN wishes BLOB;"

    /// The newest of an account's own lists, of the kinds that filters want. No table without row ids: a list may fill
    /// many pages.
    private static let recipientLists = """
        CREATE TABLE recipient_lists (
            account BLOB NOT NULL,
            kind INTEGER NOT NULL,
            created_at INTEGER NOT NULL,
            event_id BLOB NOT NULL,
            event BLOB NOT NULL,
            PRIMARY KEY (account, kind)
        );
        """

    /// Devices whose token no push service has taken yet: registered ones by their number, those of the sealed ingress
    /// by theirs. What was registered before this table counts as proven.
    private static let unprovenDevices = """
        CREATE TABLE unproven_devices (device INTEGER PRIMARY KEY) STRICT;
        CREATE TRIGGER devices_proven_no_more AFTER DELETE ON devices
            BEGIN DELETE FROM unproven_devices WHERE device = old.id; END;
        CREATE TRIGGER ingress_devices_proven_no_more AFTER DELETE ON ingress_devices
            BEGIN DELETE FROM unproven_devices WHERE device = -old.id; END;
        """

    /// Until when a device counts that the newest list of its root identity says nothing of, in milliseconds since
    /// 1970; no time where that list names it.
    private static let deviceGrace = "ALTER TABLE listed_devices ADD COLUMN until INTEGER;"

    /// Which device has a target that people choose, by a handle that reveals nothing, and which devices claim it. Few
    /// devices have one.
    private static let chosenTargets = """
        CREATE TABLE chosen_targets (
            device INTEGER PRIMARY KEY REFERENCES devices (id) ON DELETE CASCADE,
            target BLOB NOT NULL,
            confirmed INTEGER NOT NULL,
            asked_at INTEGER
        );
        CREATE INDEX chosen_targets_target ON chosen_targets (target);
        """

    /// Whether a push service ever took a push for a device. For earlier devices this is unknown, so they count as
    /// reached. The index finds the device that goes first when there is no room.
    private static let reached = """
        ALTER TABLE devices ADD COLUMN is_reached INTEGER NOT NULL DEFAULT 0;
        UPDATE devices SET is_reached = 1;
        CREATE INDEX devices_unreached ON devices (registered_at) WHERE is_reached = 0;
        """

    /// What plugins keep, each key and its value sealed together, and found by a handle that reveals nothing. An owner
    /// is here as long as something is kept for it or was lately.
    private static let pluginStates = """
        CREATE TABLE plugin_owners (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, used_at INTEGER NOT NULL) STRICT;
        CREATE TABLE plugin_states (
            owner INTEGER NOT NULL REFERENCES plugin_owners (id) ON DELETE CASCADE,
            handle BLOB NOT NULL,
            sealed BLOB NOT NULL,
            PRIMARY KEY (owner, handle)
        );
        """

    /// What operators decided about keys, networks, invitations and relays. Of an invitation there is a keyed digest.
    /// Times are in milliseconds since 1970; no `until`: for good.
    private static let accessRules = """
        CREATE TABLE access_rules (
            kind TEXT NOT NULL,
            subject TEXT NOT NULL,
            is_block INTEGER NOT NULL,
            reason TEXT NOT NULL,
            made_at INTEGER NOT NULL,
            until INTEGER,
            PRIMARY KEY (kind, subject)
        ) STRICT, WITHOUT ROWID;
        """

    /// The router's keys, once it has had more than one: `current`, `former`, `retired`, and `next` while a change is
    /// under way. A key's ring has the other secrets, and only that key opens it. A device is registered to the key of
    /// its number; 1 is the first. Times are in milliseconds since 1970.
    private static let routerKeys = """
        CREATE TABLE router_keys (
            number INTEGER PRIMARY KEY,
            key BLOB NOT NULL UNIQUE,
            state TEXT NOT NULL,
            since INTEGER NOT NULL,
            retires_at INTEGER,
            ring BLOB
        ) STRICT;
        ALTER TABLE devices ADD COLUMN router_key INTEGER NOT NULL DEFAULT 1;
        """

    /// Devices that nothing wakes, since pushes to them failed for long. Times are in milliseconds since 1970.
    private static let disabledDevices = """
        CREATE TABLE disabled_devices (
            device INTEGER PRIMARY KEY REFERENCES devices (id) ON DELETE CASCADE,
            disabled_at INTEGER NOT NULL,
            failing_since INTEGER NOT NULL
        ) STRICT;
        """

    /// Users of an app by groups that senders made, and those who left one. Whoever has no device here is in no group.
    private static let groups = """
        CREATE TABLE group_members (
            app TEXT NOT NULL,
            name TEXT NOT NULL,
            account BLOB NOT NULL,
            since INTEGER NOT NULL,
            has_left INTEGER NOT NULL,
            PRIMARY KEY (app, name, account)
        ) STRICT, WITHOUT ROWID;
        CREATE INDEX group_members_account ON group_members (account);
        CREATE TRIGGER devices_group_members AFTER DELETE ON devices
            WHEN NOT EXISTS (SELECT 1 FROM devices WHERE account = coalesce(old.root, old.author))
            BEGIN DELETE FROM group_members WHERE account = coalesce(old.root, old.author); END;
        """

    /// Keys for which a relay was read by whichever member of a cluster reads it, and with which interest: the next
    /// reader goes on from there. By the relay's URL, as each member numbers relays itself.
    private static let readKeys = """
        CREATE TABLE watch_read (
            url TEXT NOT NULL,
            key BLOB NOT NULL,
            interest INTEGER NOT NULL,
            PRIMARY KEY (url, key)
        ) STRICT, WITHOUT ROWID;
        """
}
