-- Self-checking bench of `convert` in VHDL-2008: golden rows into entity `dut`, every answer compared under the row's mask.
-- Generics: vec  the rows, a .mem or .tv       desc  the suite's .desc       n  rows there must be (0: as the .desc says)
--           least  rows that must be compared  stall  seed of random gaps, 0: none       watchdog  cycles that an answer may take
-- The rules and the RESULT line are those of the SystemVerilog benches beside it; run.sh runs the self-test and judges.
library ieee;
use ieee.std_logic_1164.all;
use ieee.math_real.uniform;
use std.textio.all;
use work.emu_rows.all;

entity bench is
  generic (
    vec      : string;
    desc     : string;
    n        : natural := 0;
    least    : positive := 1;
    stall    : natural := 0;
    watchdog : positive := 1000
  );
end entity;

architecture test of bench is
  constant SUITE  : suite_t := read_desc(desc);
  constant X_BITS : positive := bits_of(SUITE, "x");
  constant R_BITS : positive := bits_of(SUITE, "r");
  constant Y_BITS : positive := bits_of(SUITE, "y");
  constant WIDTH  : positive := SUITE.width;
  constant RESET_CYCLES : natural := 4;
  constant DRAIN        : natural := 16;

  signal clk       : std_logic := '0';
  signal rst       : std_logic := '1';
  signal in_valid  : std_logic := '0';
  signal out_valid : std_logic;
  signal x         : std_logic_vector(X_BITS - 1 downto 0) := (others => 'X');
  signal r         : std_logic_vector(R_BITS - 1 downto 0) := (others => 'X');
  signal y         : std_logic_vector(Y_BITS - 1 downto 0);

  type words_t is array (natural range <>) of std_logic_vector(WIDTH - 1 downto 0);
begin
  device : entity work.dut port map (clk => clk, rst => rst, in_valid => in_valid, x => x, r => r, out_valid => out_valid, y => y);

  run : process
    variable wanted : natural := n;                      -- rows
    type rows_p is access words_t;
    variable rows   : rows_p;
    variable compared, mismatch, unknown, masked, shown : natural := 0;
    variable over   : boolean := false;

    procedure print(text : string) is
      variable buf : line;
    begin
      write(buf, text);
      writeline(output, buf);
    end procedure;

    procedure finish_with(verdict, reason : string) is
    begin
      if not over then
        over := true;
        print("RESULT " & verdict & " reason=" & reason & " suite=" & SUITE.stem(1 to SUITE.stem_length) & " rows_sha256=" & SUITE.sha256
          & " compared=" & integer'image(compared) & " mismatch=" & integer'image(mismatch) & " x=" & integer'image(unknown)
          & " masked=" & integer'image(masked));
        if verdict = "PASS" then
          std.env.finish(0);
        else
          std.env.finish(1);
        end if;
      end if;
    end procedure;

    -- Load: guard `a` up to the trailer `e`, which counts the rows and is the last line.
    procedure load is
      file source      : text;
      variable status  : file_open_status;
      variable buf     : line;
      variable guard   : character := 'a';
      variable fine    : boolean := true;
      variable count   : natural := 0;
      variable word    : std_logic_vector(WIDTH - 1 downto 0);
      variable trailer : std_logic_vector(WIDTH - 1 downto 0) := (others => '0');
    begin
      if wanted = 0 then
        wanted := SUITE.rows;
      end if;
      file_open(status, source, vec, read_mode);
      if not SUITE.fine or status /= open_ok or find_column(SUITE, "m_y") = 0 or find_column(SUITE, "x") = 0
          or find_column(SUITE, "fl") /= 0 then
        print("bench: the rows or a .desc of convert (columns x, y, m_y and perhaps r) cannot be read");
        finish_with("BADFILE", "guard");
        return;
      end if;
      rows := new words_t(0 to wanted);
      while guard = 'a' and not endfile(source) loop
        readline(source, buf);
        parse_word(SUITE, buf.all, guard, word, fine);
        if not fine then
          print("bench: line " & integer'image(count + 1) & " is no word of these columns");
          finish_with("BADFILE", "guard");
          return;
        end if;
        if guard = 'a' then
          if count >= wanted then
            finish_with("BADFILE", "count");
            return;
          end if;
          rows(count) := word;
          count := count + 1;
        end if;
      end loop;
      for i in 0 to 30 loop
        if i < WIDTH and wanted / 2 ** i mod 2 = 1 then
          trailer(i) := '1';
        end if;
      end loop;
      if guard /= 'e' then
        finish_with("BADFILE", "guard");
      elsif count /= wanted or word /= trailer or not endfile(source) then
        finish_with("BADFILE", "count");
      end if;
    end procedure;

    procedure compare(row : natural) is
      constant want : std_logic_vector(Y_BITS - 1 downto 0) := part(SUITE, rows(row), "y");
      constant mask : std_logic_vector(Y_BITS - 1 downto 0) := part(SUITE, rows(row), "m_y");
      variable differs, is_unknown : boolean := false;
      variable buf : line;
    begin
      if (or mask) = '0' then
        masked := masked + 1;
        return;
      end if;
      compared := compared + 1;
      for i in want'range loop
        if mask(i) = '1' then
          is_unknown := is_unknown or is_x(y(i));
          differs := differs or to_x01(y(i)) /= want(i);
        end if;
      end loop;
      if is_unknown then
        unknown := unknown + 1;
      elsif differs then
        mismatch := mismatch + 1;
      end if;
      if (is_unknown or differs) and shown < 3 then
        shown := shown + 1;
        write(buf, "MISMATCH suite=" & SUITE.stem(1 to SUITE.stem_length) & " tc=" & integer'image(row + 1) & " out=y in="
          & hex(part(SUITE, rows(row), "x")));
        if find_column(SUITE, "r") /= 0 then
          write(buf, "," & hex(part(SUITE, rows(row), "r")));
        end if;
        write(buf, " want=" & hex(want) & " got=" & hex(y) & " mask=" & hex(mask));
        writeline(output, buf);
      end if;
    end procedure;

    variable sent, answered, quiet, drained, cycle, idle_left, reset_left, last_sent, last_answer : natural := 0;
    variable lag : natural := 0;                        -- cycles from the first row to its answer
    variable again_at, burst_end : natural := 0;        -- the second reset comes between these rows
    variable sent_first : integer := -1;
    variable calm, was_reset, extra, late : boolean := false;
    variable seed1, seed2 : positive := 1;
    variable draw : real := 1.0;
  begin
    load;
    if over then
      wait;
    end if;
    reset_left := RESET_CYCLES;
    idle_left := DRAIN;
    again_at := wanted / 2;
    seed1 := stall + 1;
    while not over loop
      -- after the rising edge. A reset at the start and one in mid-stream: before it all answers are awaited (none may be missing), it
      -- comes while the next rows are in flight, and they are sent again
      cycle := cycle + 1;
      if not calm and sent = again_at and answered = sent then
        calm := true;
        burst_end := minimum(again_at + lag + 1, wanted);
      end if;
      if not was_reset and calm and sent = burst_end then
        was_reset := true;
        reset_left := RESET_CYCLES;
        idle_left := lag + DRAIN;
        sent := answered;
        quiet := 0;
      end if;
      in_valid <= '0';
      x <= (others => 'X');
      r <= (others => 'X');
      rst <= '0';
      if stall > 0 then
        uniform(seed1, seed2, draw);
      end if;
      if reset_left > 0 then
        rst <= '1';
        reset_left := reset_left - 1;
      elsif idle_left > 0 then
        idle_left := idle_left - 1;
      elsif sent < wanted and draw >= 0.3 and (calm or sent /= again_at) then
        in_valid <= '1';
        x <= part(SUITE, rows(sent), "x");
        r <= part(SUITE, rows(sent), "r");
        if sent_first < 0 then
          sent_first := cycle;
        end if;
        last_sent := cycle;
        sent := sent + 1;
      end if;
      wait for 10 ns;
      clk <= '0';
      wait for 10 ns;
      -- before the next rising edge
      if rst = '0' then
        if to_x01(out_valid) = '1' then
          if answered = sent then
            extra := true;
          else
            if answered = 0 then
              lag := cycle - sent_first;
            end if;
            compare(answered);
            answered := answered + 1;
            last_answer := cycle;
            quiet := 0;
          end if;
        elsif is_x(out_valid) then
          unknown := unknown + 1;
        end if;
        if answered < sent then
          quiet := quiet + 1;
        end if;
        late := quiet > watchdog;
        if answered = wanted then
          drained := drained + 1;
        end if;
        -- missing answers: the design still answered when the last row was driven; else it stopped
        if extra or (late and answered > 0 and last_answer >= last_sent) then
          finish_with("FAIL", "count");
        elsif late then
          finish_with("FAIL", "timeout");
        elsif drained > lag + DRAIN then
          if mismatch > 0 then
            finish_with("FAIL", "mismatch");
          elsif unknown > 0 then
            finish_with("FAIL", "x");
          elsif compared < least then
            finish_with("BADFILE", "count");
          else
            finish_with("PASS", "none");
          end if;
        end if;
      end if;
      wait for 10 ns;
      clk <= '1';
      wait for 10 ns;
    end loop;
    wait;
  end process;
end architecture;
