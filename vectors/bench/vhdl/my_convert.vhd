-- An example of a design: bf16 to E2M1, nearest, ties to even, as the policy `nvidia` wants it; and the wrapper that the bench drives.
library ieee;
use ieee.std_logic_1164.all;
use ieee.numeric_std.all;

entity my_convert is
  port (
    bf16 : in std_logic_vector(15 downto 0);
    e2m1 : out std_logic_vector(3 downto 0)
  );
end entity;

architecture rtl of my_convert is
  -- midpoints between codes, as bf16: 0.25 0.75 1.25 1.75 2.5 3.5 5
  type midpoints_t is array (0 to 6) of unsigned(14 downto 0);
  constant MIDPOINTS : midpoints_t := (
    15x"3E80", 15x"3F40", 15x"3FA0", 15x"3FE0", 15x"4020", 15x"4060", 15x"40A0");
begin
  process (all)
    variable code : unsigned(2 downto 0);
  begin
    code := "000";
    for i in midpoints_t'range loop               -- a tie goes to the even code
      if unsigned(bf16(14 downto 0)) > MIDPOINTS(i) or (unsigned(bf16(14 downto 0)) = MIDPOINTS(i) and i mod 2 = 1) then
        code := to_unsigned(i + 1, 3);
      end if;
    end loop;
    e2m1 <= bf16(15) & std_logic_vector(code);
    if unsigned(bf16(14 downto 0)) > 16#7F80# then -- NaN: its sign is lost
      e2m1 <= "0111";
    end if;
  end process;
end architecture;

library ieee;
use ieee.std_logic_1164.all;

-- Names and widths are those of the suite's columns. `r` is there for every converter; one without random bits leaves it alone.
entity dut is
  port (
    clk, rst, in_valid : in std_logic;
    x         : in std_logic_vector(15 downto 0);
    r         : in std_logic_vector;
    out_valid : out std_logic;
    y         : out std_logic_vector(3 downto 0)
  );
end entity;

architecture wrapper of dut is
begin
  unit : entity work.my_convert port map (bf16 => x, e2m1 => y);
  out_valid <= in_valid;
end architecture;
